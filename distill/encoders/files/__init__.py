"""Encode any number of texts."""
