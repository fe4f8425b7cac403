"""Data that is learned from and measured on."""
