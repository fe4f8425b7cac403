"""The machine beneath: files, locks, hashes, versions, the terminal."""
