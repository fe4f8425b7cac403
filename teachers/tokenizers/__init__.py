"""Convert the tokenizers of other libraries' models to a SentencePiece model that gives the same ids."""

from .folder import tokenizer_of

__all__ = ["tokenizer_of"]
