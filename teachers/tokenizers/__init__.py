"""Run the tokenizers of other libraries' models, and convert them to a SentencePiece model that gives the same ids."""

from .folder import convert_tokenizer, load_tokenizer

__all__ = ["convert_tokenizer", "load_tokenizer"]
