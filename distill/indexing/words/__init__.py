"""The words of an index, and those that mean the same."""
