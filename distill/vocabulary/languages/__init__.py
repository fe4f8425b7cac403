"""Add languages and words to a trained encoder."""
