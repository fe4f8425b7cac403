"""Weights in few bits. NumPy alone."""
