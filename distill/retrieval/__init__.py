"""What is nearest to a question, by vectors or by words, and metrics of the ranks."""
