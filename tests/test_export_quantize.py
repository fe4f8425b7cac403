import numpy as np
import pytest

from distill.export.quantize import (
    BLOCK,
    ChannelDense,
    QuantizedTable,
    SplitDense,
    quantize_channels,
    quantize_rows,
    split_kernel,
)


def decoded(codes, fixed):
    """What the docstring of `quantize_rows` says, in double precision."""
    return (codes.astype(np.float64) - 128) * fixed / 2**24


@pytest.fixture
def dense():
    """A Dense layer `(24, 10)` whose channels differ in scale, as trained ones do, with a bias."""
    import keras

    layer = keras.layers.Dense(10, activation="relu")
    layer.build((None, 24))
    random = np.random.default_rng(1)
    layer.set_weights([random.normal(size=(24, 10)) * np.logspace(-3, 1, 10), random.normal(size=10)])
    return layer


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_a_row_by_hand():
    # The largest is 1.27, so a step is 0.01: 167,773 (rounded up) in units of 2^-24.
    codes, fixed = quantize_rows(np.array([[1.27, -1.27, 0.01, 0.0, -0.634]], dtype=np.float32))
    assert fixed.tolist() == [[167773]]
    assert codes.tolist() == [[255, 1, 129, 128, 65]]


def test_rows_are_uint8_with_one_int32_scale_each():
    codes, fixed = quantize_rows(normal(7, 5))
    assert (codes.dtype, codes.shape) == (np.uint8, (7, 5))
    assert (fixed.dtype, fixed.shape) == (np.int32, (7, 1))


@pytest.mark.parametrize("size", [100.0, 1.0, 0.05, 1e-3, 1e-4, 1e-5, 1e-6])
def test_a_row_is_off_by_at_most_half_a_step(size):
    table = normal(50, 64) * np.float32(size)
    codes, fixed = quantize_rows(table)
    # A thousandth of a step for the float32 of the division.
    assert np.all(np.abs(decoded(codes, fixed) - table) <= 0.501 * fixed / 2**24)


def test_each_row_has_a_scale_of_its_own():
    table = np.array([[1.0, 0.5], [0.001, 0.0005]], dtype=np.float32)
    assert decoded(*quantize_rows(table)) == pytest.approx(table, rel=0.01)


def test_a_row_of_zeros_stays_zero():
    codes, fixed = quantize_rows(np.zeros((2, 4), dtype=np.float32))
    assert (codes == 128).all() and (fixed > 0).all()


def test_rows_do_not_depend_on_the_block_they_are_in():
    table = normal(BLOCK + 3, 2)
    codes, fixed = quantize_rows(table)
    for row in (0, BLOCK - 1, BLOCK, BLOCK + 2):
        alone = quantize_rows(table[row : row + 1])
        assert codes[row].tolist() == alone[0][0].tolist() and fixed[row] == alone[1][0]


def test_channels_by_hand():
    numbers, scale = quantize_channels(np.array([[1.27, -0.5], [0.014, 0.25]], dtype=np.float32))
    assert numbers.tolist() == [[127, -127], [1, 64]]
    assert scale == pytest.approx([0.01, 0.5 / 127])


def test_channels_are_whole_numbers_that_reach_127():
    # A kernel whose largest is 127 has the converter's scale 127 / 127 = 1, which is what keeps it exact.
    numbers, scale = quantize_channels(normal(30, 12) * np.logspace(-6, 3, 12, dtype=np.float32))
    assert numbers.dtype == scale.dtype == np.float32
    assert np.array_equal(numbers, np.round(numbers))
    assert np.abs(numbers).max(axis=0).tolist() == [127] * 12


def test_a_channel_is_off_by_at_most_half_its_step():
    kernel = normal(30, 12) * np.logspace(-6, 3, 12, dtype=np.float32)
    numbers, scale = quantize_channels(kernel)
    step = np.abs(kernel.astype(np.float64)).max(axis=0) / 127
    assert np.all(np.abs(numbers * scale.astype(np.float64) - kernel) <= 0.501 * step)


def test_a_channel_of_zeros_stays_zero():
    numbers, scale = quantize_channels(np.array([[0.0, 1.0], [0.0, -1.0]], dtype=np.float32))
    assert (numbers * scale)[:, 0].tolist() == [0, 0] and np.isfinite(scale).all()


def test_the_coarse_kernel_is_on_an_int8_grid():
    kernel = normal(40, 30)
    coarse, _ = split_kernel(kernel)
    steps = coarse.astype(np.float64) / (np.abs(kernel).max() / 127)
    assert np.abs(steps - np.round(steps)).max() < 1e-3
    assert np.abs(steps).max() <= 127.001


def test_the_rest_is_at_most_half_a_step():
    kernel = normal(40, 30)
    coarse, rest = split_kernel(kernel)
    assert np.abs(rest).max() <= 0.501 * np.abs(kernel).max() / 127
    assert coarse + rest == pytest.approx(kernel, abs=1e-7)


def test_two_int8_kernels_are_254_times_closer_than_one():
    kernel = normal(40, 30)
    step = np.abs(kernel).max() / 127
    assert np.abs(sum(int8(part) for part in split_kernel(kernel)) - kernel).max() <= 0.51 * step / 254
    assert np.abs(int8(kernel) - kernel).max() > 0.4 * step


def int8(kernel):
    """What the converter's dynamic-range quantisation keeps of a kernel: one scale, max / 127."""
    scale = np.abs(kernel.astype(np.float64)).max() / 127
    return np.round(kernel / scale) * scale


def test_a_kernel_of_zeros_splits_into_zeros():
    assert not any(part.any() for part in split_kernel(np.zeros((3, 2), dtype=np.float32)))


def test_the_table_looks_rows_up():
    table = normal(9, 6)
    ids = np.array([[8, 0, 3, 3]], dtype=np.int32)
    found = np.asarray(QuantizedTable(table)(ids))
    assert (found.shape, found.dtype) == ((1, 4, 6), np.float32)
    half_step = np.abs(table).max(axis=1) / 127 / 2
    assert np.all(np.abs(found[0] - table[ids[0]]) <= 1.01 * half_step[ids[0], None])


def test_a_channel_dense_layer_is_near_the_trained_one(dense):
    kernel, bias = (np.asarray(weight, dtype=np.float64) for weight in dense.get_weights())
    x = normal(1, 5, 24)
    expected = np.maximum(x[0] @ kernel + bias, 0)
    # Each product is off by at most |x| times half a step of its channel.
    bound = np.abs(x[0]).sum(axis=1, keepdims=True) * np.abs(kernel).max(axis=0) / 127 / 2
    assert np.all(np.abs(np.asarray(ChannelDense(dense)(x))[0] - expected) <= 1.01 * bound + 1e-5)


def test_a_channel_dense_layer_holds_the_whole_numbers(dense):
    kernel = np.asarray(dense.kernel)
    assert np.array_equal(ChannelDense(dense).kernel, np.round(kernel / (np.abs(kernel).max(axis=0) / 127)))


def test_a_channel_dense_layer_without_bias_has_none():
    import keras

    layer = keras.layers.Dense(3, use_bias=False)
    layer.build((None, 2))
    layer.set_weights([np.array([[1.27, 0.0, 1.0], [0.0, 1.27, -1.0]])])
    assert np.asarray(ChannelDense(layer)(np.float32([[[2, 3]]])))[0, 0] == pytest.approx([2.54, 3.81, -1], abs=1e-5)


def test_a_split_dense_layer_is_the_trained_one_before_the_converter():
    import keras

    layer = keras.layers.Dense(10, use_bias=False)
    layer.build((None, 24))
    x = normal(1, 24)
    assert np.asarray(SplitDense(layer)(x)) == pytest.approx(x @ np.asarray(layer.kernel), abs=1e-5)


def test_quantised_weights_do_not_train(dense):
    layers = [QuantizedTable(normal(3, 2)), ChannelDense(dense)]
    assert [len(layer.trainable_weights) for layer in layers] == [0, 0]
