"""Encoders and indexes in other programs, each by that program's own library."""
