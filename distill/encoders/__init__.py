"""Encoders: text in, unit vectors out."""
