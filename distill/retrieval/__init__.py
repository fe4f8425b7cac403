"""Nearest neighbours, BM25 and retrieval metrics, in NumPy."""
