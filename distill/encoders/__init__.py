"""Text in, unit vectors out."""
