"""Students as folders that Sentence-Transformers and model2vec open."""
