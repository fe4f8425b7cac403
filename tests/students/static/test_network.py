import numpy as np
import pytest
from fixtures.pieces import tokenizer_of
from fixtures.vectors import unit

from distill.encoders.encoder import KerasEncoder
from distill.students.frequencies import Frequencies
from distill.students.ngram import NGramEncoder
from distill.students.project import project_student
from distill.students.static.network import compute_weights, encode_single_tokens, make_static

BOS, EOS = 1, 2
PIECES = ["▁", "a", "b", "c", "▁a", "▁b", "▁ab", "ab", "bc", "▁abc", "d", "e"]
ROWS = [[BOS, 5, 5, 9, EOS], [BOS, 5, 12, EOS]]
OFTEN = Frequencies(np.bincount(np.concatenate(ROWS), minlength=15).astype(float))


def unigram(*more):
    """A longer piece has the higher score."""
    return tokenizer_of(*((piece, len(piece) - 10) for piece in (*PIECES, *more)), prefix=True)


@pytest.fixture(scope="module")
def encoder(model):
    return KerasEncoder(model, unigram())


@pytest.fixture(scope="module")
def model(randomised):
    return randomised(NGramEncoder(vocabulary=15, width=6, channels=4, orders=(2,), hidden=9, dimension=8))


def expected(model, texts):
    """Arora et al. (2017) by hand: a / (a + p) times what a piece alone is, without the mean of all."""
    counts = np.zeros(15)
    counts[[5, 9, 12]] = 3, 1, 1
    alone = np.asarray(model(np.array([[BOS, piece, EOS] for piece in range(15)], dtype="int32")))
    rows = (1e-3 / (1e-3 + counts / 5))[:, None] * (alone - counts @ alone / 5)
    rows[[BOS, EOS]] = 0
    return unit(np.array([rows[ids].sum(axis=0) for ids in texts]))


def test_on_all_axes_a_text_is_its_pieces_weighted_sum_and_channels_add_nothing_at_first_but_can_learn(encoder, model):
    np.testing.assert_allclose(compute_weights(np.array([0, 1, 3])), [1, 0.001 / 0.251, 0.001 / 0.751])
    static = make_static(encoder, encoder.tokenizer, OFTEN, width=8, hidden=5)
    texts = [[BOS, 5, 9, EOS], [BOS, 12, 3, 3, EOS]]
    vectors = np.concatenate([np.asarray(static(np.array([ids], dtype="int32"))) for ids in texts])
    np.testing.assert_allclose(vectors, expected(model, texts), atol=1e-5)
    static = make_static(encoder, encoder.tokenizer, OFTEN, width=8, hidden=5, channels=7, order=2)
    assert (static.channels, static.order) == (7, 2)
    ids = [BOS, 12, 3, 7, EOS]
    np.testing.assert_allclose(np.asarray(static(np.array([ids], dtype="int32"))), expected(model, [ids]), atol=1e-5)
    assert np.abs(np.asarray(static.get_layer("context").first.kernel)).min() > 0


def test_on_fewer_axes_it_is_near_and_can_learn_by_its_seed(encoder, model):
    static = make_static(encoder, encoder.tokenizer, OFTEN, width=6, hidden=5)
    assert static.width == 6
    ids = [BOS, 12, 3, 7, EOS]
    assert np.asarray(static(np.array([ids], dtype="int32")))[0] @ expected(model, [ids])[0] > 0.9
    residual = static.get_layer("residual")
    assert not np.asarray(residual.second.kernel).any()
    assert np.abs(np.asarray(residual.first.kernel)).min() > 0
    students = [make_static(encoder, encoder.tokenizer, OFTEN, 6, 5, seed=seed).get_weights() for seed in (0, 0, 1)]
    equal = [all(map(np.array_equal, students[0], other)) for other in students[1:]]
    assert equal == [True, False]


def test_a_projected_model_hands_its_axes_on(encoder, model):
    vectors = unit(np.random.default_rng(3).normal(size=(30, 8)))
    static = make_static(
        KerasEncoder(project_student(model, vectors, 3), encoder.tokenizer), encoder.tokenizer, OFTEN, width=8, hidden=5
    )
    assert (static.space, static.dimension) == (8, 3)
    whole = make_static(encoder, encoder.tokenizer, OFTEN, width=8, hidden=5)
    ids = np.array([[BOS, 12, 3, 7, EOS]], dtype="int32")
    np.testing.assert_allclose(np.asarray(static(ids)), np.asarray(project_student(whole, vectors, 3)(ids)), atol=1e-5)


def test_a_larger_tokenizers_pieces_are_themselves_or_cut_and_have_their_texts_vectors(encoder, model):
    pieces = encode_single_tokens(encoder.tokenizer, unigram("▁abcd", "bcd"))
    assert pieces[:15] == [[BOS, piece, EOS] for piece in range(15)]
    assert pieces[15:] == encoder.tokenizer.encode([" abcd", "bcd"])
    larger = unigram("▁abcd")
    static = make_static(encoder, larger, Frequencies.of(larger, [[BOS, 5, 9, 15, EOS]]), width=8, hidden=5)
    (ids,) = encoder.tokenizer.encode(["abcd"])
    counts = np.zeros(16)
    counts[[5, 9, 15]] = 1
    singles = [[BOS, piece, EOS] for piece in range(15)] + [ids]
    vectors = np.stack([np.asarray(model(np.array([row], dtype="int32")))[0] for row in singles])
    vector = np.asarray(static(np.array([[BOS, 15, EOS]], dtype="int32")))[0]
    np.testing.assert_allclose(vector, unit(vectors[15] - counts @ vectors / 3), atol=1e-5)
