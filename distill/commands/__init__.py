"""A command parses, calls and prints: it takes the words of a line and gives a job of the library its settings.

Nothing imports from here but `distill.cli`.
"""
