"""Milliseconds a query, each encoder in a process of its own."""
