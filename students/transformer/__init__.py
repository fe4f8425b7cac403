"""Transformer encoders, whose weights come from folders of Hugging Face and Sentence-Transformers."""

from .network import TransformerEncoder

__all__ = ["TransformerEncoder"]
