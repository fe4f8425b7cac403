"""`distill tune`: search settings on dev."""
