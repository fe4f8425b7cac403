"""What mUSE's architecture is made of; its vectors are held against NumPy's in test_family."""

import numpy as np
import pytest

from distill.encoders.batching import pack, pad
from distill.students.ngram import Convolution, Head, NGramEncoder, Pooling

VOCABULARY = 30
# Lengths 1 to 9: single tokens, shorter than a window, longer than one.
LENGTHS = (1, 4, 1, 9, 2, 6, 3)


def encoder(orders=(2, 3, 5), seed=0):
    """All weights random, biases and LayerNorm gains too: at their initial values a forgotten one would not show."""
    model = NGramEncoder(vocabulary=VOCABULARY, width=6, channels=4, orders=orders, hidden=24, dimension=16)
    rng = np.random.default_rng(seed)
    # So small that tanh does not saturate, which would hide differences.
    model.set_weights([rng.normal(scale=0.25, size=w.shape) for w in model.get_weights()])
    return model


@pytest.fixture(scope="module")
def model():
    return encoder()


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(1)
    return [rng.integers(0, VOCABULARY, size=n).tolist() for n in LENGTHS]


def vectors_of(model, rows):
    return np.asarray(model(rows))


def packed_vectors(model, texts, gap=None):
    return np.asarray(model.encode_packed(**pack(texts, model.gap if gap is None else gap)))


def test_padding_does_not_read_the_first_row_of_the_table(texts):
    model = encoder()
    rows = pad([[id or 1 for id in ids] for ids in texts])
    before = vectors_of(model, rows)
    table = model.get_layer("embedding").get_weights()[0]
    table[0] = 1e3
    model.get_layer("embedding").set_weights([table])
    np.testing.assert_array_equal(vectors_of(model, rows), before)


def test_a_batchs_order_and_neighbours_change_no_vector(model, texts):
    order = [4, 0, 6, 2, 5, 1, 3]
    shuffled = vectors_of(model, pad([texts[i] for i in order]))
    np.testing.assert_allclose(shuffled, vectors_of(model, pad(texts))[order], atol=1e-6)
    alone = packed_vectors(model, [[5]])
    between = packed_vectors(model, [[1, 2, 3], [5], [4, 6]])
    np.testing.assert_allclose(between[1], alone[0], atol=1e-6)


@pytest.mark.parametrize("orders, gap", [((1,), 0), ((2,), 1), ((2, 3), 1), ((4,), 2), ((2, 3, 5), 2), ((6,), 3)])
def test_the_gap_is_half_the_widest_window(orders, gap):
    assert encoder(orders).gap == gap


@pytest.mark.parametrize("orders", [(2,), (4,), (5,)])
def test_a_smaller_gap_would_let_neighbours_in(orders, texts):
    model = encoder(orders)
    expected = vectors_of(model, pad(texts))
    assert np.abs(packed_vectors(model, texts, gap=model.gap - 1) - expected).max() > 1e-3


def test_config_holds_every_argument(model):
    config = {**model.get_config()}
    config.pop("name")
    sizes = {"vocabulary": 30, "width": 6, "channels": 4, "orders": [2, 3, 5], "hidden": 24, "dimension": 16}
    assert config == {**sizes, "convolutions": 2, "inner": None, "space": None, "rank": None, "foreign": False}


@pytest.mark.parametrize("layer", [Convolution(3, 4), Head(5, 7), Pooling(7)], ids=lambda layer: type(layer).__name__)
def test_layer_config_round_trip(layer):
    assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        # x + 10 * this token + 1 * the next.
        ([10, 1], [1 + 10 + 2, 2 + 20 + 3, 3 + 30 + 0]),
        # x + 100 * the one before + 10 * this token + 1 * the next.
        ([100, 10, 1], [1 + 10 + 2, 2 + 100 + 20 + 3, 3 + 200 + 30]),
    ],
    ids=["even", "odd"],
)
def test_an_odd_window_has_its_token_in_the_middle_and_an_even_one_before(kernel, expected):
    layer = Convolution(len(kernel), 1)
    layer.build((None, None, 1))
    layer.dense.set_weights([np.array(kernel, dtype="float32")[:, None], np.zeros(1)])
    x = np.array([[[1.0], [2.0], [3.0]]], dtype="float32")
    np.testing.assert_allclose(np.asarray(layer(x))[0, :, 0], expected)


def test_pooling_divides_by_the_root_of_the_count_and_a_zero_vector_has_a_finite_head():
    layer = Pooling(1)
    layer.build((None, 2), (None, 1))
    layer.dense.set_weights([np.array([[1.0], [2.0]])])
    layer.bias.assign([5.0])
    summed, count = np.array([[3.0, 4.0]], dtype="float32"), np.array([[4.0]], dtype="float32")
    # (3 * 1 + 4 * 2 + 4 tokens * 5) / sqrt(4)
    np.testing.assert_allclose(np.asarray(layer(summed, count)), [[15.5]])
    head = Head(5, 7)
    np.testing.assert_array_equal(np.asarray(head(np.zeros((1, 7), dtype="float32"))), np.zeros((1, 7)))
