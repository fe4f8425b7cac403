"""The machine: files, locks, hashes, versions, the terminal."""
