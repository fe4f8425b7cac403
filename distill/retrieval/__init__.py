"""Search by vectors or by words, and metrics of the ranks that it gives."""
