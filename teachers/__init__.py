"""Pretrained encoders, one file a source."""
