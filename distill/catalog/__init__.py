"""From what a user names to an encoder."""
