"""Tokenizers of other libraries' models as one of ours: the same ids, in a SentencePiece model."""

from .folder import tokenizer_of

__all__ = ["tokenizer_of"]
