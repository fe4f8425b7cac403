"""Layers whose weights are already on the artefact's grid, so that the converter stores them without loss.

The converter's dynamic-range quantisation stores a dense kernel as int8 with one scale, max|kernel| / 127, and
therefore stores a kernel of whole numbers up to 127 exactly. One scale for a whole trained kernel is too coarse (mean
cosine .96 to the student), and a scale per output channel needs an operator version that older runtimes lack. Hence
each channel's scale is applied after the product, in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, Union

import keras
import numpy as np
from keras import ops

from ...system.types import Floats, Tensor
from ..weights.codecs import CODECS, FRACTION_BITS, GROUP, INT4_ZERO, ZERO
from ..weights.kernels import LEVELS, LEVELS_OF_4, quantize_channels
from ..weights.precision import Precision
from ..weights.products import CODEWORDS

# This is below every activation and above the least float32.
LEAST = -3.0e38
# How a graph treats padding behind a text's ids; None if there is none.
Padding: TypeAlias = Literal["masked", "sliced"] | None
# A trained weight, or its values.
Kernel: TypeAlias = Union[Floats, "keras.Variable"]


class EdgeLayer(keras.layers.Layer):
    """A layer that has its weights from the start."""

    def build(self, shape: Sequence[int | None]) -> None:
        """Make nothing. Keras would trace a layer without this method, and again each layer in it, to build them."""


def keep_apart(x: Tensor) -> Tensor:
    """Return x in a form that keeps the converter from merging the kernels before and after it."""
    return ops.maximum(x, LEAST)


def add_constant(layer: keras.layers.Layer, value: Tensor | np.ndarray) -> keras.Variable:
    """Add a weight that does not train."""
    value = np.asarray(value)
    return layer.add_weight(
        shape=value.shape, dtype=value.dtype.name, initializer=lambda shape, dtype: value, trainable=False
    )


def remove_padding(ids: Tensor) -> Tensor:
    """Cut off the padding behind ids `(t,)`."""
    return ids[: ops.sum(ops.cast(ops.greater_equal(ids, 0), "int32"))]


def stack_windows(x: Tensor, order: int) -> Tensor:
    """Concatenate each row with its neighbours, with zeros beyond the ends: `(t, c)` -> `(t, order * c)`."""
    reach = order - 1
    before = reach // 2
    padded = ops.pad(x, [[before, reach - before], [0, 0]])
    return ops.concatenate([x if i == before else padded[i : i - reach or None] for i in range(order)], axis=-1)


def mask_padding(x: Tensor, keep: Tensor | None) -> Tensor:
    """Set the rows of padding, where `keep` `(t, 1)` is 0, to zero."""
    return x if keep is None else x * keep


class FloatDense(EdgeLayer):
    """A dense layer with float32 weights, act(x W + b): `(n, in)` -> `(n, out)`."""

    def __init__(self, kernel: Kernel, bias: Kernel | None = None, relu: bool = False, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.kernel, self.relu = add_constant(self, kernel), relu
        self.bias = None if bias is None else add_constant(self, bias)

    def call(self, x: Tensor) -> Tensor:
        x = ops.matmul(x, self.kernel)
        x = x if self.bias is None else x + self.bias
        return ops.relu(x) if self.relu else x


class Int8Dense(EdgeLayer):
    """A dense layer with a kernel of whole numbers, act(x V + b / s) s for W = V s, where no scale s is negative.

    The numbers are stored in 8 bits, or in 4 if they are at most 7 (`packing.narrow_kernels`). The arguments are
    those of `FloatDense`.
    """

    levels = LEVELS

    def __init__(self, kernel: Kernel, bias: Kernel | None = None, relu: bool = False, **kwargs: str) -> None:
        super().__init__(**kwargs)
        whole, scale = quantize_channels(np.asarray(kernel), self.levels)
        self.dense = FloatDense(whole, None if bias is None else np.asarray(bias) / scale, relu, name="whole")
        self.scale = add_constant(self, scale)

    def call(self, x: Tensor) -> Tensor:
        x = self.dense(x)
        return (x if self.dense.relu else keep_apart(x)) * self.scale


class Int4Dense(Int8Dense):
    """Like `Int8Dense`, with whole numbers up to 7."""

    levels = LEVELS_OF_4


class MixedDense(EdgeLayer):
    """The sum of one `Int8Dense` of the first `wide` inputs and one `Int4Dense` of the others."""

    def __init__(self, kernel: Kernel, bias: Kernel | None, wide: int, **kwargs: str) -> None:
        super().__init__(**kwargs)
        kernel, self.count = np.asarray(kernel), wide
        self.wide = Int8Dense(kernel[:wide], name="wide")
        self.narrow = Int4Dense(kernel[wide:], bias, name="narrow")

    def call(self, x: Tensor) -> Tensor:
        return self.wide(x[:, : self.count]) + self.narrow(x[:, self.count :])


class Norm(EdgeLayer):
    """A `LayerNormalization` of rows `(t, c)`."""

    def __init__(self, norm: keras.layers.LayerNormalization, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.gamma, self.epsilon = add_constant(self, norm.gamma), norm.epsilon
        self.beta = add_constant(self, norm.beta) if norm.center else None

    def call(self, x: Tensor) -> Tensor:
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        scaled = centred * ops.rsqrt(variance + self.epsilon) * self.gamma
        return scaled if self.beta is None else scaled + self.beta


# The classes of dense layers by precision.
Dense: TypeAlias = Callable[..., keras.layers.Layer]
DENSE: dict[str, Dense] = {"int8": Int8Dense, "int4": Int4Dense, "float32": FloatDense}


class Table(EdgeLayer):
    """Looks up rows of a table stored by `codecs.encode_table`, and decodes only these: `(t,)` -> `(t, width)`."""

    def __init__(self, table: Floats, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.width, self.decode = table.shape[1], DECODE[precision.table]
        stored = [add_constant(self, _as_bits(array)) for array in precision.encode_table(table)]
        self.stored, self.shared = CODECS[precision.table].split(stored)

    def call(self, ids: Tensor) -> Tensor:
        rows = [_rows(array, ids) for array in self.stored] or [ids]
        return _cut(self.decode(*rows, *self.shared), self.width)


def _as_bits(array):
    """Return float32 rows as their bits, because the converter quantises float matrices, though not vectors."""
    return array.view(np.int32) if array.dtype == np.float32 and array.ndim > 1 else array


def _cut(rows, width):
    # A slice of all columns would be a copy.
    return rows if rows.shape[1] == width else rows[:, :width]


def _rows(array, ids):
    import tensorflow as tf

    # `ops.take` spends three operators on negative ids.
    return tf.gather(ops.convert_to_tensor(array), ids)


def _as_float(scales):
    return ops.cast(scales, "float32") * 2.0**-FRACTION_BITS


def _float32(bits):
    import tensorflow as tf

    return tf.bitcast(bits, tf.float32)


def _int4(packed, steps, scales):
    packed = ops.cast(packed, "float32")
    high = ops.floor(packed * (1 / 16))
    codes = ops.concatenate([packed - 16 * high, high], axis=-1) - INT4_ZERO  # (t, stored)
    step = ops.expand_dims(ops.cast(steps, "float32") * _as_float(scales), -1)  # (t, groups, 1)
    # A step repeated to the row's width would take longer than all else here.
    return ops.reshape(ops.reshape(codes, (-1, step.shape[1], GROUP)) * step, (-1, codes.shape[-1]))


def _uint8(codes, scales):
    return (ops.cast(codes, "float32") - ZERO) * _as_float(scales)


def _product(codes, words, scales):
    where = _places(codes)
    return ops.reshape(_uint8(_rows(words, where), _rows(scales, where)), (-1, codes.shape[-1] * words.shape[-1]))


def _places(codes):
    starts = np.arange(0, CODEWORDS * codes.shape[-1], CODEWORDS, dtype=np.int32)
    return ops.cast(codes, "int32") + starts  # (t, places)


def _mix_rows(ids, packed, steps, scales, codes, words, step, count):
    frequent = ops.less(ids, count)  # (t,)
    first, rest = ops.where(frequent, ids, 0), ops.where(frequent, 0, ids - count)
    first = _int4(*(_rows(array, first) for array in (packed, steps, scales)))
    rest = _words(_rows(codes, rest), words)
    width = min(first.shape[-1], rest.shape[-1] - 1)
    rest = rest[:, :width] * (rest[:, -1:] * step)
    return ops.where(ops.expand_dims(frequent, -1), _cut(first, width), rest)


def _words(codes, words):
    size = codes.shape[-1] * words.shape[-1]
    return ops.reshape(ops.cast(_rows(words, _places(codes)), "float32"), (-1, size))


# Functions by codec that decode gathered rows, or take ids if the codec gathers no rows by them.
DECODE: dict[str, Callable] = {
    "uint8": _uint8,
    "int8-row": lambda codes, scales: ops.cast(codes, "float32") * _as_float(scales),
    "int4": _int4,
    "float32": _float32,
    "pq4": _product,
    "pq8": _product,
    "int4-pq3": _mix_rows,
    "int4-pq5": _mix_rows,
}
