"""What makes an encoder small: architectures, vocabulary, reduction."""
