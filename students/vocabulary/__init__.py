"""Pieces: fewer, more, and how they cut texts."""
