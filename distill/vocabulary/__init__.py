"""Words and pieces: text comes in, its words, sentences and spellings come out.

`languages` teaches an encoder new ones. Training, jobs and the search engine call it.
"""
