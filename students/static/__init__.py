"""The static student: a weighted sum of token embeddings, and a small network."""

from .network import StaticEncoder

__all__ = ["StaticEncoder"]
