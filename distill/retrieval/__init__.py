"""Nearest neighbours, BM25 and retrieval metrics in NumPy: vectors or words come in, ranks and scores come out.

Mining, evaluation and the search engine share it.
"""
