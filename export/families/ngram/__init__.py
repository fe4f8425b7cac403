"""Graphs, weights and packing of n-gram students."""
