"""Small encoders: architectures, vocabulary, reduction."""
