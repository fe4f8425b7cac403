"""Parts of exported networks by family, in folders with the names of those in `students/`."""
