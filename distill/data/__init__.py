"""Data sets: files of questions, documents and parallel text come in, a `Dataset` with splits and pairs comes out.

The stages of training learn from it, and the tasks of evaluation measure on it.
"""
