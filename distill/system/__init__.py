"""The machine: files, locks, hashes, the terminal, and the start of Keras.

Every room may call it, and it calls none.
"""
