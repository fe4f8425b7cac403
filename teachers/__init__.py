"""Pretrained encoders, one module per source."""
