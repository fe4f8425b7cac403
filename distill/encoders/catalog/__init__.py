"""Load the encoder that a user names."""
