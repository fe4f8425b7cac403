"""A run's settings: a file or options come in, checked dataclasses come out.

Each field says what it bears on, and the options of commands are made from the fields. `recipes` holds named sets.
"""
