"""Words that an encoder of two languages finds near each other."""

import numpy as np

from distill.students.embeddings import TABLE
from distill.students.vocabulary.new_pieces import append_tokens, compute_mean_embeddings
from distill.vocabulary.languages.lexicon_induction import (
    commonest_words,
    estimate_lexicon,
    induce_lexicon,
    transplant_translations,
)


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


# Pieces by what stands across from them in parallel text.
def test_one_round_counts_what_stands_across_and_more_rounds_explain_it_away():
    # "1 2" across from "5 6", and "1" from "5": after a round 1 has all of a 5 and half of the other line's 5 and 6.
    lines, across = [np.array([1, 2]), np.array([1])], [np.array([5, 6]), np.array([5])]
    pieces, words, chances = estimate_lexicon(lines, across, 10, rounds=1)
    assert list(zip(pieces, words, strict=True)) == [(1, 5), (1, 6), (2, 5), (2, 6)]
    np.testing.assert_allclose(chances, [1.5 / 2, 0.5 / 2, 0.5, 0.5])
    _, _, chances = estimate_lexicon(lines, across, 10, rounds=20)
    assert chances[0] > 0.95 and chances[3] > 0.95


def test_a_row_is_that_of_the_likeliest_translations(base):
    tokenizer = base.tokenizer
    larger = append_tokens(tokenizer, [("▁kissa", -9.0), ("▁hevonen", -9.0), ("▁puu", -9.0)])
    pairs = [("kissa", "cat"), ("hevonen", "horse"), ("kissa hevonen", "cat horse")] * 3
    moved, table = transplant_translations(base, larger, pairs), base.model.get_layer(TABLE).get_weights()[0]
    for row, word in enumerate(["cat", "horse"]):
        ids = tokenizer.encode([word])[0][1:-1]
        near = {id for id, weight in zip(moved.nearest[row], moved.weights[row], strict=True) if weight}
        assert near <= set(ids)
        np.testing.assert_allclose(moved.rows[row], moved.weights[row] @ table[moved.nearest[row]], rtol=1e-5)
    assert not moved.weights[2].any()
    np.testing.assert_allclose(moved.rows[2], compute_mean_embeddings(base, larger)[2], rtol=1e-6)
