"""Rows by nearest neighbours that are known beforehand, weighed by hand."""

import numpy as np
import pytest
from fixtures.pieces import USER, small_encoder, tokenizer_of

from distill.errors import EncoderError
from distill.students.vocabulary.new_pieces import compute_mean_embeddings, extend_tokenizer
from distill.students.vocabulary.transplant import (
    MIN_TOKENS,
    NEAREST,
    TEMPERATURE,
    centre_by_script,
    find_anchors,
    find_rare_tokens,
    list_examples,
    realign,
    transplant,
)

ANIMALS = ["cat", "dog", "fox", "hen", "owl", "pig", "rat", "yak", "ant", "bee"]


def encoder_of(*pieces):
    """An encoder whose unigram model has these pieces, `(text, score)`, after <unk>, <s> and </s>; and its table."""
    encoder = small_encoder(tokenizer_of(*pieces, prefix=True), 6)
    return encoder, encoder.model.get_layer("embedding").get_weights()[0]


class Aligner:
    """The vectors that it is given; it keeps its calls."""

    name, dimension = "by hand", 4

    def __init__(self, vectors):
        self.vectors, self.calls = vectors, []

    def encode(self, texts, role="question", progress=None):
        self.calls.append((list(texts), role))
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def turned(degrees):
    return np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0, 0


@pytest.fixture
def zoo():
    """Ten words on a circle, 36 degrees apart, so that their mean is zero; ids 3 to 12."""
    encoder, table = encoder_of(*((f"▁{name}", -number - 1) for number, name in enumerate(ANIMALS)), ("ζ", -20))
    return encoder, table, {name: turned(36 * number) for number, name in enumerate(ANIMALS)}


def by_hand(cosines):
    powers = np.exp(np.array(cosines) / TEMPERATURE)
    return powers / powers.sum()


def test_a_row_is_the_weighted_mean_of_the_eight_nearest(zoo):
    encoder, table, vectors = zoo
    larger = extend_tokenizer(encoder.tokenizer, [("▁γάτα", -1)])
    moved = transplant(encoder, larger, Aligner({**vectors, "γάτα": turned(10)}))
    angles = [10, -26, 46, -62, 82, -98, 118, -134]  # of cat, dog, bee, fox, ant, hen, yak, owl; not rat and pig
    weights = by_hand(np.cos(np.radians(angles)))
    assert moved.nearest.tolist() == [[3, 4, 12, 5, 11, 6, 10, 7]]
    np.testing.assert_allclose(moved.weights, [weights], rtol=1e-4)
    np.testing.assert_allclose(moved.rows, [weights @ table[[3, 4, 12, 5, 11, 6, 10, 7]]], rtol=1e-4, atol=1e-6)
    assert NEAREST == 8 and moved.rows.dtype == np.float32


def test_every_piece_gets_its_own_from_questions_without_space_marks(zoo):
    encoder, table, vectors = zoo
    larger = extend_tokenizer(encoder.tokenizer, [("▁άλογο", -1), ("▁सूअर", -2), ("γάτα", -3)])
    known = {**vectors, "άλογο": turned(72), "सूअर": turned(180), "γάτα": turned(1)}
    moved = transplant(encoder, larger, Aligner(known))
    assert moved.nearest[:, 0].tolist() == [5, 8, 3]
    assert moved.rows.shape == (3, 6)
    encoder, _, vectors = zoo
    larger = extend_tokenizer(encoder.tokenizer, [("▁γάτα", -1), ("▁η▁γάτα", -2)])
    aligner = Aligner({**vectors, "γάτα": turned(0), "η γάτα": turned(0)})
    transplant(encoder, larger, aligner)
    assert aligner.calls == [(ANIMALS, "question"), (["γάτα", "η γάτα"], "question")]


def test_of_fewer_words_all_count(zoo):
    encoder, table, vectors = zoo
    larger = extend_tokenizer(encoder.tokenizer, [("▁γάτα", -1)])
    moved = transplant(encoder, larger, Aligner({**vectors, "γάτα": (5, 1, 0, 0)}), most=2)
    # Less the mean of cat and dog these two are opposite each other.
    mean = (np.array(turned(0)) + np.array(turned(36))) / 2
    point, cat = np.array([5, 1, 0, 0]) - mean, np.array(turned(0)) - mean
    cosine = point @ cat / np.linalg.norm(point) / np.linalg.norm(cat)
    first, weights = (3, by_hand([cosine, -cosine])) if cosine > 0 else (4, by_hand([-cosine, cosine]))
    assert moved.nearest.tolist() == [[first, 7 - first]]
    np.testing.assert_allclose(moved.rows, [weights @ table[[first, 7 - first]]], rtol=1e-3, atol=1e-6)


def test_a_piece_without_letters_has_the_mean_of_what_it_replaces(zoo):
    encoder, table, vectors = zoo
    larger = extend_tokenizer(encoder.tokenizer, [("▁«7»", -1), ("▁γάτα", -2)])
    moved = transplant(encoder, larger, Aligner({**vectors, "«7»": turned(0), "γάτα": turned(0)}))
    np.testing.assert_array_equal(moved.rows[0], compute_mean_embeddings(encoder, larger)[0])
    assert not moved.weights[0].any() and moved.weights[1].any()


def test_what_a_script_has_in_common_is_taken_off():
    random = np.random.default_rng(0)
    known, offset = random.normal(size=(40, 8)), 50 * random.normal(size=8)
    vectors = known[:MIN_TOKENS] + offset
    moved, still = centre_by_script(known, vectors, ["Grek"] * MIN_TOKENS)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, rtol=1e-6)
    expected = known - known.mean(axis=0)
    np.testing.assert_allclose(still, expected / np.linalg.norm(expected, axis=1)[:, None], rtol=1e-6)
    expected = known[:MIN_TOKENS] - known[:MIN_TOKENS].mean(axis=0)
    np.testing.assert_allclose(moved, expected / np.linalg.norm(expected, axis=1)[:, None], rtol=1e-6)


def test_scripts_have_means_of_their_own_but_few_vectors_have_none():
    random = np.random.default_rng(1)
    known, alike = random.normal(size=(5, 4)), random.normal(size=(MIN_TOKENS, 4))
    vectors = np.stack([alike + 9, alike - 7], axis=1).reshape(-1, 4)  # in turns
    moved, _ = centre_by_script(known, vectors, iter(["Grek", "Deva"] * MIN_TOKENS))
    np.testing.assert_allclose(moved[0::2], moved[1::2], rtol=1e-6)
    known = np.array([[3.0, 0], [1, 0], [2, 3]])  # mean (2, 1)
    moved, _ = centre_by_script(
        known, np.array([[2.0, 5], [5, 5]] + [[0, 0]] * (MIN_TOKENS - 3)), ["Grek"] * (MIN_TOKENS - 1)
    )
    np.testing.assert_allclose(moved[:2], [[0, 1], [0.6, 0.8]])


def test_anchors_are_the_likeliest_words_in_plain_letters():
    pieces = [("▁the", -9), ("cat", -1), ("▁dog", -3), ("▁of", -2), ("▁été", -1), ("▁Нил", -1), ("▁Nile", -4)]
    encoder, _ = encoder_of(*pieces, ("▁a-b", -1), ("▁two", -3), ("▁ask", 0, USER), ("▁a▁b", -1), ("▁4th", -1))
    assert find_anchors(encoder.tokenizer).tolist() == [5, 11, 9, 3]
    assert find_anchors(encoder.tokenizer, 2).tolist() == [5, 11]
    encoder, _ = encoder_of(("▁Нил", -1))
    with pytest.raises(EncoderError, match="Latin"):
        find_anchors(encoder.tokenizer)


def test_some_pieces_are_shown_with_their_best_anchors_and_none_without_words(zoo):
    encoder, _, vectors = zoo
    new = [(f"▁{sign}", -1 - place / 10) for place, sign in enumerate("αβγδε")]
    larger = extend_tokenizer(encoder.tokenizer, [*new, ("θ", -2), ("▁7", -2)])
    known = dict.fromkeys("αβγδεθ7", turned(0)) | {"ε": turned(35), "β": turned(180)}
    moved = transplant(encoder, larger, Aligner({**vectors, **known}))
    pieces = list_examples(encoder.tokenizer, larger, moved, 3)
    assert list(pieces) == ["▁α", "▁γ", "▁ε"]
    assert [anchor for anchor, _ in pieces["▁ε"]] == ["▁dog", "▁cat", "▁fox"]
    weights = by_hand(np.cos(np.radians([1, 35, 37, 71, 73, 107, 109, 143])))
    assert [weight for _, weight in pieces["▁ε"]] == pytest.approx(weights[:3], rel=1e-4)
    assert list(list_examples(encoder.tokenizer, larger, moved, 99)) == ["▁α", "▁β", "▁γ", "▁δ", "▁ε"]
    larger = extend_tokenizer(encoder.tokenizer, [("θ", -2), ("▁7", -2)])
    moved = transplant(encoder, larger, Aligner({**vectors, "θ": turned(0), "7": turned(0)}))
    assert list_examples(encoder.tokenizer, larger, moved) == {}


def test_a_piece_that_is_rare_in_the_text_has_a_row_by_meaning_and_the_others_stay(zoo):
    """Ids 13 and 14 are rare; 13 has letters, and 14 keeps its row; the ten words are what they are aligned with."""
    _, _, vectors = zoo
    pieces = [(f"▁{name}", -number - 1) for number, name in enumerate(ANIMALS)]
    encoder, table = encoder_of(*pieces, ("▁γάτα", -20), ("7", -21), ("ζ", -22))
    texts = ["ζ ζ γάτα", "7"]
    rare = find_rare_tokens(encoder, texts, 2, [f"▁{name}" for name in ANIMALS])
    assert rare.tolist() == [13, 14] and find_rare_tokens(encoder, texts, 1, []).tolist() == list(range(3, 13))
    aligner = Aligner({**vectors, "γάτα": turned(10), "7": turned(50)})
    rows = realign(encoder, rare, encoder, aligner).model.get_layer("embedding").get_weights()[0]
    angles = [10, -26, 46, -62, 82, -98, 118, -134]
    expected = by_hand(np.cos(np.radians(angles))) @ table[[3, 4, 12, 5, 11, 6, 10, 7]]
    np.testing.assert_allclose(rows[13], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(np.delete(rows, 13, axis=0), np.delete(table, 13, axis=0))
