import keras
import numpy as np
import pytest

from distill.export.tflite.layers import LEAST, FloatDense, Int8Dense, Table, add_constant, keep_apart
from distill.export.weights.codecs import CODECS, decode_rows, encode_table
from distill.export.weights.precision import Precision


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.fixture
def kernel():
    """`(24, 10)`, channels that differ in scale, as trained ones do."""
    return normal(24, 10, seed=1) * np.logspace(-3, 1, 10, dtype=np.float32)


def on_grid(kernel):
    """The kernel rounded to 1/127 of each channel's largest, in double precision."""
    step = np.abs(kernel.astype(np.float64)).max(axis=0) / 127
    return np.round(kernel / step) * step


def test_whole_dense_layers_by_hand():
    # Steps of 0.01 and 0.02: 0.634 is 63.4 of the one, rounded to 63, and 0.05 is 2.5 of the other, to the even 2.
    layer = Int8Dense(np.float32([[1.27, -2.54], [0.634, 0.05]]), np.float32([1, -1]), relu=True)
    assert np.array_equal(layer.dense.kernel, [[127, -127], [63, 2]])
    assert np.asarray(layer.scale) == pytest.approx([0.01, 0.02])
    assert np.asarray(layer(np.float32([[1, 2], [-2, 10]]))) == pytest.approx(
        np.array([[1.27 + 1.26 + 1, 0], [-2.54 + 6.3 + 1, 5.08 + 0.4 - 1]]), abs=1e-5
    )
    layer = Int8Dense(np.float32([[1.27, 0.0, 1.0], [0.0, 1.27, -1.0]]))
    expected = np.array([[2.54, 3.81, -1], [-5.08, 0, -4]])
    assert np.asarray(layer(np.float32([[2, 3], [-4, 0]]))) == pytest.approx(expected, abs=1e-5)
    # A channel of zeros keeps its bias.
    layer = Int8Dense(np.float32([[0.0, 1.0], [0.0, 1.0]]), np.float32([0.25, -3.0]))
    assert np.asarray(layer(np.float32([[5, 6]]))) == pytest.approx(np.array([[0.25, 8]]), abs=1e-5)


def dense(x, kernel, bias, relu):
    x = x.astype(np.float64) @ kernel + (0 if bias is None else bias)
    return np.maximum(x, 0) if relu else x


@pytest.mark.parametrize("bias", [None, normal(10, seed=2)], ids=["no-bias", "bias"])
@pytest.mark.parametrize("relu", [False, True], ids=["linear", "relu"])
def test_a_dense_layer_is_the_trained_one_and_a_whole_one_that_on_the_grid(kernel, bias, relu):
    x = normal(50, 24)
    for layer, rounded in ((Int8Dense, on_grid(kernel)), (FloatDense, kernel)):
        got = np.asarray(layer(kernel, bias, relu)(x))
        # float32 sums of 24 products of the channel's size.
        assert np.all(np.abs(got - dense(x, rounded, bias, relu)) <= 1e-5 * (1 + np.abs(kernel).max(axis=0)))
        assert (got < 0).any() == (not relu) and layer(kernel, bias, relu).trainable_weights == []


@pytest.mark.parametrize("width", [32, 40, 64])
@pytest.mark.parametrize("codec", CODECS)
def test_a_table_decodes_the_whole_numbers_that_the_codec_stores(codec, width):
    table, ids = normal(9, width), np.array([8, 0, 3, 3], dtype=np.int32)
    layer = Table(table, Precision(table=codec))
    rows = np.asarray(layer(ids))
    assert (rows.shape, rows.dtype) == ((4, width), np.float32)
    assert np.array_equal(rows, decode_rows(codec, encode_table(codec, table), width)[ids])
    # The converter would quantise a float constant, whatever it holds, but for a vector.
    rows = [array for array in [*layer.stored, *layer.shared] if len(array.shape) > 1]
    assert {keras.backend.standardize_dtype(array.dtype) for array in rows} <= {"uint8", "int8", "int32"}


def test_apart_changes_nothing():
    x = np.array([[-1e30, -2.5, 0.0, 1e-30, 7.0]], dtype=np.float32)
    assert np.array_equal(keep_apart(x), x)
    assert np.finfo(np.float32).min < LEAST


def test_a_constant_keeps_its_type_and_does_not_train():
    layer = keras.layers.Layer()
    for value in (np.arange(3, dtype=np.uint8), np.array([[2**31 - 1]], dtype=np.int32), normal(2, 3)):
        weight = add_constant(layer, value)
        assert keras.backend.standardize_dtype(weight.dtype) == value.dtype.name
        assert np.array_equal(weight, value)
    assert layer.trainable_weights == []
