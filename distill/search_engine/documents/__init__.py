"""Read a user's documents: files of every format, and folders of them."""
