"""A page that searches by itself: the program in C, compiled to WebAssembly, reads the encoder and an index."""
