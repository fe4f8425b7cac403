"""A page that searches by itself: the encoder and an index, read by the program in C as WebAssembly."""
