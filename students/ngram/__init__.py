"""The n-gram convolutional encoder of mUSE-small, and cuts of it."""

from .network import NGramEncoder

__all__ = ["NGramEncoder"]
