"""Words that an encoder of two languages finds near each other."""

import numpy as np

from distill.vocabulary.languages.lexicon_induction import commonest_words, induce_lexicon


class Two:
    """An encoder of two languages, the first in capital letters: each far from the other, their words alike."""

    name, dimension = "two", 8

    def encode(self, texts, role="question", progress=None):
        vectors = np.stack([np.random.default_rng(sum(text.lower().encode())).normal(size=8) for text in texts])
        vectors += np.where([[text.isupper()] for text in texts], 5.0, -5.0)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_each_language_is_looked_at_from_its_own_middle():
    words = ["cat", "horse", "bird", "tree", "stone", "river", "moon", "field", "bread", "water", "wolf", "door"]
    near = induce_lexicon([word.upper() for word in words], words, Two())
    assert near.nearest[:, 0].tolist() == list(range(12))
    np.testing.assert_allclose(near.weights.sum(axis=1), 1, rtol=1e-6)
    vectors = np.eye(12, dtype=np.float32)
    np.testing.assert_allclose(near.mean(vectors)[3, near.nearest[3]], near.weights[3])


def test_words_stand_without_punctuation_as_they_are_written_most_often():
    assert commonest_words(["Cats, cats and 'cats' 42", "Paris! and (Paris)"], 3) == ["cats", "and", "Paris"]
