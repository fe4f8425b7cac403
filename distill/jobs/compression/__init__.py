"""`distill compress`: a search for the smallest encoder within limits of size, time and quality."""
