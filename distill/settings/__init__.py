"""A run's settings: what they may be, which go together, and their file."""
