"""Graphs, weights and packing of static students."""
