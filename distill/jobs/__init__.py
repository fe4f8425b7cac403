"""Whole jobs as functions of the library, from an encoder to a result. Commands only parse for them and print."""
