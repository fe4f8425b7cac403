"""Transformers as artefacts."""
