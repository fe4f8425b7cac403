"""Encoders with attention: BERT's block, whose weights Hugging Face's and Sentence-Transformers' folders hold."""

from .network import TransformerEncoder

__all__ = ["TransformerEncoder"]
