"""Add languages, words and spellings to a trained encoder."""
