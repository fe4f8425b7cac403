"""Change the vocabulary of an encoder: fewer tokens, more tokens, and how texts are cut into them."""
