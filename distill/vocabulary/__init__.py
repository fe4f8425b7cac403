"""Words and pieces: what a text consists of, how people type it, and languages and words that an encoder learns."""
