"""An encoder as one file for a program in C, and that program: the format `c` of `distill export`."""
