"""An encoder as one file for a program in C, and that program: what `distill export --format c` writes."""
