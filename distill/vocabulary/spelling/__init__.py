"""Aliases for tokens, so that an encoder reads noisy text: `distill add-spellings`."""
