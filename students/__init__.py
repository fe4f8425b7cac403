"""Student encoders: their architectures, their vocabularies, and how they are made smaller."""
