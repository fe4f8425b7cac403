"""Families of networks as what they are shipped in: a folder each, of the name of that in `students/`."""
