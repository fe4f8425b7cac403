"""Let an encoder learn a collection of documents that has no questions."""
