"""Texts of any number to vectors."""
