"""The words of an index, and words that mean the same."""
