"""Encoders and indexes for other programs, each through that program's own library."""
