"""Words and sentences of a text, by language."""
