"""A guest: what reproduces papers. Its rows are commands of `distill`, and what they wrote comes out as tables.

`bias` is LAReQA and LIR, `reading` finds the span that answers, and `tasks` measures. Commands and the face call it.
"""
