"""`distill tune`: settings searched on dev."""
