"""Seeded generators of noisy text, as people type it."""
