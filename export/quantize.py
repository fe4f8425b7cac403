"""Weights as int8: which numbers go into the artefact, decided here and not by the converter.

The converter's dynamic-range quantisation stores a dense kernel as int8 with one scale, max|kernel| / 127. A
kernel that already is a whole multiple of that scale is stored without loss, so each layer below holds such
kernels. One scale for a whole trained kernel is too coarse (mean cosine .96 to the student), one an output
channel needs an operator version that older runtimes lack; hence the scale of a channel stands after the product,
and the head, which runs once a text, has its kernels as a sum of two.
"""

import keras
import numpy as np
from keras import ops

LEVELS = 127
# A float constant of 1,024 elements or more would be quantised by the converter, so the table's scales are
# stored as int32 fixed point with this many fractional bits.
FRACTION_BITS = 24
ZERO = 128
# Rows at once, so that no second float table is made.
BLOCK = 8192


def quantize_rows(table):
    """float32 `(rows, width)` -> uint8 codes of that shape and int32 fixed-point scales `(rows, 1)`.

    value = (code - 128) * scale / 2^24: symmetric, one scale a row, error at most half a step.
    """
    codes = np.empty(table.shape, dtype=np.uint8)
    fixed = np.empty((len(table), 1), dtype=np.int32)
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        scale = np.maximum(np.abs(table[rows]).max(axis=1, keepdims=True) / LEVELS, 2.0**-FRACTION_BITS)
        fixed[rows] = np.ceil(scale * 2**FRACTION_BITS)
        codes[rows] = np.clip(np.round(table[rows] / (fixed[rows] * 2.0**-FRACTION_BITS)) + ZERO, 0, 255)
    return codes, fixed


def quantize_channels(kernel):
    """float32 `(in, out)` -> whole numbers in [-127, 127] as float32, and one scale an output channel, `(out,)`."""
    scale = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / LEVELS
    return np.round(kernel / scale).astype(np.float32), scale.astype(np.float32)


def split_kernel(kernel):
    """float32 `(in, out)` -> two kernels whose sum is near it: one on an int8 grid, and the rest, for another grid.

    The rest is at most half a step of the first, so after its own int8 the error is 1/254 of half a step.
    """
    step = max(np.abs(kernel).max(), 1e-12) / LEVELS
    coarse = (np.round(kernel / step) * step).astype(np.float32)
    return coarse, (kernel - coarse).astype(np.float32)


def fixed_weight(layer, value):
    """A weight of `layer` that holds `value` and does not train."""
    return layer.add_weight(
        shape=value.shape, dtype=value.dtype.name, initializer=lambda shape, dtype: value, trainable=False
    )


class QuantizedTable(keras.layers.Layer):
    """Looks rows up as uint8 and de-quantises only these: ids `(1, t)` -> float32 `(1, t, width)`."""

    def __init__(self, table, **kwargs):
        super().__init__(**kwargs)
        codes, scales = quantize_rows(table)
        self.codes, self.scales = fixed_weight(self, codes), fixed_weight(self, scales)

    def call(self, ids):
        codes = ops.cast(ops.take(self.codes, ids, axis=0), "float32")
        scales = ops.cast(ops.take(self.scales, ids, axis=0), "float32")
        return (codes - ZERO) * (scales * 2.0**-FRACTION_BITS)


class ChannelDense(keras.layers.Layer):
    """A trained `Dense` over tokens, `(1, t, in)` -> `(1, t, out)`, one scale an output channel after the product."""

    def __init__(self, dense, **kwargs):
        super().__init__(**kwargs)
        kernel, scale = quantize_channels(np.asarray(dense.kernel))
        self.kernel, self.scale = fixed_weight(self, kernel), fixed_weight(self, scale)
        self.bias = fixed_weight(self, np.asarray(dense.bias)) if dense.use_bias else None
        self.activation = dense.activation

    def call(self, x):
        x = ops.matmul(x, self.kernel) * self.scale
        return self.activation(x if self.bias is None else x + self.bias)


class SplitDense(keras.layers.Layer):
    """A trained `Dense` without bias over a text, `(1, in)` -> `(1, out)`, as the sum of two int8 products."""

    def __init__(self, dense, **kwargs):
        super().__init__(**kwargs)
        self.coarse, self.rest = (fixed_weight(self, part) for part in split_kernel(np.asarray(dense.kernel)))

    def call(self, x):
        return ops.matmul(x, self.coarse) + ops.matmul(x, self.rest)
