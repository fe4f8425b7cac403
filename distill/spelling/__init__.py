"""Pieces for text as people type it: `distill add-spellings`."""
