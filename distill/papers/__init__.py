"""Tables of papers: rows are `distill` commands, and what they wrote is read into tables."""
