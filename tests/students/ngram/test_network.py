"""What mUSE's architecture is made of; its vectors are held against NumPy's in test_family."""

import numpy as np
import pytest

from distill.students.ngram.network import Convolution, Head, NGramEncoder, Pooling
from distill.students.student import make_windows

SIZES = {"vocabulary": 30, "width": 6, "channels": 4, "hidden": 24, "dimension": 16}


@pytest.mark.parametrize("orders, gap", [((1,), 0), ((2,), 1), ((2, 3), 1), ((4,), 2), ((2, 3, 5), 2), ((6,), 3)])
def test_the_gap_is_half_the_widest_window(orders, gap):
    assert NGramEncoder(orders=orders, **SIZES).gap == gap


def test_config_holds_every_argument():
    config = NGramEncoder(orders=(2, 3, 5), name="x", **SIZES).get_config()
    defaults = {"convolutions": 2, "inner": None, "space": None, "rank": None, "foreign": False, "segmented": False}
    assert config == {**SIZES, **defaults, "orders": [2, 3, 5], "name": "x"}


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


@pytest.mark.parametrize("order", [2, 5])
def test_a_token_gets_the_gradients_of_all_its_windows_without_tensorflows_slow_gradient_of_a_slice(order):
    import tensorflow as tf

    @tf.function
    def gradient(x, upstream):
        with tf.GradientTape() as tape:
            tape.watch(x)
            joined = make_windows(x, order)
        return tape.gradient(joined, x, upstream)

    x = np.zeros((1, 4, 2), dtype="float32")
    upstream = np.random.default_rng(0).normal(size=(1, 4, order * 2)).astype("float32")
    expected = np.zeros((4 + order - 1, 2))
    for place, row in enumerate(upstream[0].reshape(4, order, 2)):
        expected[place : place + order] += row
    first = (order - 1) // 2
    total = gradient(tf.constant(x), tf.constant(upstream))
    np.testing.assert_allclose(total[0], expected[first : first + 4], rtol=1e-6)
    graph = gradient.get_concrete_function(tf.constant(x), tf.constant(upstream)).graph
    assert "StridedSliceGrad" not in {operation.type for operation in graph.get_operations()}
