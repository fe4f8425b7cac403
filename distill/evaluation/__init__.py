"""Measures of how good an encoder is, and tests of whether another is better."""
