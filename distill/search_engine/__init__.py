"""A guest: the search engine. Files come in, an index and the passages that answer a question come out.

Nothing imports from it but commands and the package's face, so that the rest trains, proves and ships without it.
"""
