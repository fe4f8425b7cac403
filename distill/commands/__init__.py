"""A command parses, calls and prints."""
