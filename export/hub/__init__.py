"""A student as the folders that Sentence-Transformers and model2vec open."""
