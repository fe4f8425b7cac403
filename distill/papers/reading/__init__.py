"""Readers, which find the span of a passage that answers a question."""
