"""Convert the tokenizers of other libraries' models to a SentencePiece model that gives the same ids."""

from .folder import convert_tokenizer

__all__ = ["convert_tokenizer"]
