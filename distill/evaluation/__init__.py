"""How good an encoder is, and whether another is better."""
