"""Whole jobs as functions of the library, for which a command parses and prints: an encoder in, a result out."""
