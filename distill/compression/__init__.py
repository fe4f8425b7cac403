"""`distill compress`: a smaller bundle within a budget."""
