"""Words of a text by language."""
