"""The n-gram convolutional encoder of mUSE-small, and how it is cut."""

from .network import NGramEncoder

__all__ = ["NGramEncoder"]
