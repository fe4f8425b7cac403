"""An index of documents: read, cut into passages, encoded, stored, searched."""
