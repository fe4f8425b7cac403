"""Quantise weights to few bits, with NumPy only."""
