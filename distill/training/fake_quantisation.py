"""Fake quantisation: weights rounded as in an artefact, in float32, so that training sees what will be shipped.

Forward the rounded values, backward the gradient as if nothing were rounded, the straight-through estimator. Sources:
Bengio et al. (2013), Estimating or propagating gradients through stochastic neurons; Jacob et al. (2018), Quantization
and training of neural networks for efficient integer-arithmetic-only inference. The scales are those of
`export/weights/codecs.py` and `export/weights/kernels.py`, whose constants are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import keras
import numpy as np
from keras import ops

from ..export.weights.codecs import FRACTION_BITS, GROUP, INT4_HIGHEST, INT4_LOWEST, STEPS, ZERO, find_places
from ..export.weights.kernels import LEVELS, LEVELS_OF_4
from ..export.weights.precision import Precision
from ..export.weights.stored_table import STILL, StoredTable
from ..system.types import Floats, Model, Tensor

# Variables with the values that they have when rounded.
Rounded: TypeAlias = list[tuple[keras.Variable, Tensor]]

ONE = 2.0**FRACTION_BITS
# int32 holds sums of a number below this and a divisor.
EXACT = 2.0**30


def fake_rows(x: Tensor, codec: str) -> Tensor:
    """Round the rows of a table as a codec stores them; gradients pass straight through.

    Rounding a gathered row equals rounding the table, because the scales are those of a row. A number halfway between
    two steps, to float32's precision, may go to the other one. If a compiler multiplies by 1 / 127 instead of dividing,
    some scales are larger by one unit of 2^-24. `x` are the rows, float32 `(..., width)`. `codec` is a key of
    `codecs.CODECS`. Returns the values that `codecs.decode_rows` returns for the stored rows.
    """
    return straight_through(x, ROUNDED[codec](ops.stop_gradient(x)))


def fake_codewords(x: Tensor, ids: Tensor, stored: StoredTable) -> Tensor:
    """Round the rows of a table as `StoredTable.keep` does; gradients pass straight through.

    Rows that moved get 4 bits per number, as if all of them were promoted. The others stay as they were. `x` are the
    rows, float32 `(1, t, w)`. `ids` are their token ids `(1, t)`.
    """
    fixed = ops.stop_gradient(x)
    before = ops.take(stored.values, ids, axis=0)
    far = ops.max(ops.abs(fixed - before), axis=-1, keepdims=True)
    moved = ops.greater(far, STILL * ops.max(ops.abs(fixed), axis=-1, keepdims=True))
    return straight_through(x, ops.where(moved, round_to_four_bits(fixed), fixed))


@dataclass(frozen=True)
class Codewords:
    """The codewords of a stored table, which are trained.

    `values` are `StoredTable.words` times its `unit`, so that they are as large as a table's numbers, `(places * 256,
    size)`.
    """

    stored: StoredTable
    values: keras.Variable

    def decode(self, x: Tensor, ids: Tensor) -> Tensor:
        """Compute the rows of tokens from the codewords; those of frequent tokens are `x`.

        Gradients pass straight through the rounding of codewords to whole numbers. `x` are rows, float32 `(1, t, w)`,
        and `ids` their token ids `(1, t)`.
        """
        *_, codes, whole, step, count = self.stored.arrays
        numbers = self.values / self.stored.unit
        numbers = straight_through(numbers, ops.clip(ops.round(numbers), -LEVELS, LEVELS))
        places = find_places(codes)
        scales = whole[places[:, -1], -1:].astype(np.float32) * step
        at = ops.maximum(ids - int(count[0]), 0)
        parts = ops.take(numbers, ops.take(places, at, axis=0), axis=0)  # (1, t, places, size)
        rows = ops.reshape(parts, (*ops.shape(ids), -1))[..., : x.shape[-1]] * ops.take(scales, at, axis=0)
        return ops.where(ops.expand_dims(ids, -1) < int(count[0]), x, rows)

    def store(self, stored: StoredTable, table: Floats) -> tuple[StoredTable, Floats]:
        """Return a stored table with these codewords, and a float32 table `(rows, width)` whose rows have them."""
        stored = stored.with_words(ops.convert_to_numpy(self.values) / self.stored.unit)
        often = stored.frequent_count
        return stored, np.concatenate([table[:often], stored.values[often:]])


def fake_kernel(kernel: Tensor, levels: int = LEVELS) -> Tensor:
    """Round a kernel to whole numbers times a scale per output channel; gradients pass straight through."""
    fixed = ops.stop_gradient(kernel)
    scale = ops.maximum(ops.max(ops.abs(fixed), axis=0), 1e-12) / levels
    return straight_through(kernel, ops.round(fixed / scale) * scale)


def straight_through(x: Tensor, value: Tensor) -> Tensor:
    """Return a value with the gradient of another tensor."""
    return x + ops.stop_gradient(value - x)


def fake_encode(
    encoder: Model, precision: Precision, packed: Mapping[str, Tensor], codewords: Codewords | None = None
) -> Tensor:
    """Encode packed texts with the weights that an artefact of a precision has.

    Gradients reach the encoder's own variables, and its table's codewords if these are trained. Dense layers are
    rounded as in a bundle (`fake_kernels`). Returns the vectors `(n, d)`.
    """
    # Inside the scope a variable that is not mapped is, on JAX, a constant without a gradient; so all are.
    trained = [*encoder.weights, *([codewords.values] if codewords else [])]
    unrounded = [(weight, weight.value) for weight in trained]
    if codewords:
        table = partial(codewords.decode, ids=packed["pieces"][None])
    elif precision.stored:
        table = partial(fake_codewords, ids=packed["pieces"][None], stored=precision.stored)
    else:
        table = partial(fake_rows, codec=precision.table)
    with keras.StatelessScope([*unrounded, *fake_kernels(encoder, precision.dense)]):
        return encoder.encode_packed(**packed, table=table)


@contextmanager
def quantise_weights(encoder: Model, precision: Precision) -> Iterator[Model]:
    """Replace the encoder's weights by rounded ones within a block, and restore them afterwards."""
    before, table = encoder.get_weights(), encoder.get_layer("embedding").embeddings
    try:
        for variable, value in fake_kernels(encoder, precision.dense):
            variable.assign(value)
        if precision.stored or ROUNDED[precision.table] is not keep_float32:
            table.assign(precision.round_trip(np.asarray(table)))
        yield encoder
    finally:
        encoder.set_weights(before)


def fake_kernels(encoder: Model, dense: str) -> Rounded:
    """Round the encoder's dense kernels as in a bundle.

    The head's beginning is approximate: a bundle multiplies pooling's kernel by the next two (`rewrite.merge`) and
    rounds the product, whereas here those two are rounded and pooling's is not, so that the product is rounded once
    too. With a factorised table, a bundle multiplies the factor into the projections, and a static student's projection
    into the last product; here each is rounded by itself. The rounding of a layer's input by runtimes, the float16 head
    of an ONNX file and the larger scale that it gives some channels are left out. A projection on all dimensions, which
    is nearly the identity, stays as it is, because a bundle stores it in a finer form (`rewrite.complement`). A
    projection into another encoder's space is treated as any dense layer. Returns each variable with its rounded value,
    empty if `dense` is float32.
    """
    if dense == "float32":
        return []
    rounded = encoder.foreign or encoder.space not in (None, encoder.dimension)
    kernels = [*encoder.rounded_kernels, *([(encoder.get_layer("projection").kernel, None)] if rounded else [])]
    narrow = encoder.narrow_kernels if dense == "int4" else {}
    return [(kernel, fake_scaled(kernel, scale, narrow.get(kernel.path))) for kernel, scale in kernels]


def fake_scaled(kernel: Tensor, scale: Tensor | None, wide: int | None = None) -> Tensor:
    """Round a kernel that an export divides by a scale first."""
    return fake_mixed(kernel, wide) if scale is None else fake_mixed(kernel / scale, wide) * scale


def fake_mixed(kernel: Tensor, wide: int | None = None) -> Tensor:
    """Round a kernel to 8 bits, or to 4 bits but for its first inputs, of which `wide` are in 8 bits; None for all."""
    if not wide:
        return fake_kernel(kernel, LEVELS if wide is None else LEVELS_OF_4)
    return ops.concatenate([fake_kernel(kernel[:wide], LEVELS), fake_kernel(kernel[wide:], LEVELS_OF_4)])


def keep_float32(rows: Tensor) -> Tensor:
    """Return the rows unchanged."""
    return rows


def round_to_eight_bits(rows: Tensor) -> Tensor:
    """Round rows as `uint8_rows` and `int8_rows` store them."""
    scale = ops.maximum(ops.max(ops.abs(rows), axis=-1, keepdims=True) / LEVELS, 1 / ONE)
    scale = ops.ceil(scale * ONE) / ONE
    return ops.clip(ops.round(rows / scale), -ZERO, ZERO - 1) * scale


def round_to_four_bits(rows: Tensor) -> Tensor:
    """Round rows as `int4_rows` stores them."""
    width = rows.shape[-1]
    padded = ops.pad(rows, [[0, 0]] * (len(rows.shape) - 1) + [[0, -width % GROUP]])
    groups = ops.reshape(padded, (*ops.shape(padded)[:-1], -1, GROUP))
    step = ops.expand_dims(group_step(groups), -1)
    codes = ops.clip(ops.round(groups / step), INT4_LOWEST, INT4_HIGHEST)
    return ops.reshape(codes * step, ops.shape(padded))[..., :width]


def group_step(groups: Tensor) -> Tensor:
    """Compute the steps `(..., groups)` of groups `(..., groups, GROUP)`, as `codecs.group_steps` does."""
    wanted = ops.maximum(ops.max(groups, axis=-1) / INT4_HIGHEST, ops.min(groups, axis=-1) / INT4_LOWEST)
    wanted = ops.ceil(wanted * ONE)
    scale = ops.maximum(divide_up(ops.max(wanted, axis=-1, keepdims=True), STEPS), 1)
    return ops.clip(divide_up(wanted, scale), 1, STEPS) * (scale / ONE)


def divide_up(whole: Tensor, divisor: Tensor) -> Tensor:
    """Compute ceil(whole / divisor) of whole numbers in float32.

    It is exact below `EXACT`: in float32 the quotient may cross a whole number, and the next step is several per cent
    away.
    """
    whole, divisor = ops.convert_to_tensor(whole), ops.cast(divisor, "float32")
    small = ops.maximum(whole, divisor) < EXACT
    bounded = [ops.cast(ops.where(small, part, 1.0), "int32") for part in (whole, divisor)]
    exact = ops.floor_divide(bounded[0] + bounded[1] - 1, bounded[1])
    return ops.where(small, ops.cast(exact, "float32"), ops.ceil(whole / divisor))


# How a table's rows are rounded, under the names of `codecs.CODECS`.
# A table of codewords is made before its student is trained, and stays; of the last two a row alone tells no place.
ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {
    "float32": keep_float32,
    "uint8": round_to_eight_bits,
    "int8-row": round_to_eight_bits,
    "int4": round_to_four_bits,
}
ROUNDED |= dict.fromkeys(("pq4", "pq8", "int4-pq3", "int4-pq5"), keep_float32)
