"""The static student: a sum of weighted piece vectors and a small network."""

from .network import StaticEncoder

__all__ = ["StaticEncoder"]
