"""Fake quantisation: weights rounded as in an artefact, in float32, so that training sees what will be shipped.

Forward the rounded values, backward the gradient as if nothing were rounded, the straight-through estimator. Sources:
Bengio et al. (2013), Estimating or propagating gradients through stochastic neurons; Jacob et al. (2018), Quantization
and training of neural networks for efficient integer-arithmetic-only inference. The scales are those of
`export/weights/codecs.py` and `export/weights/kernels.py`, whose constants are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import keras
import numpy as np
from keras import ops

from ..export.weights.codecs import FRACTION_BITS, GROUP, INT4_HIGHEST, INT4_LOWEST, STEPS, ZERO
from ..export.weights.kernels import LEVELS, LEVELS_OF_4
from ..export.weights.precision import Precision
from ..export.weights.stored import STILL, StoredTable
from ..system.types import Model, Tensor

# Variables with the values that they have when rounded.
Rounded: TypeAlias = list[tuple[keras.Variable, Tensor]]

ONE = 2.0**FRACTION_BITS
# int32 holds sums of a number below this and a divisor.
EXACT = 2.0**30


def fake_rows(x: Tensor, codec: str) -> Tensor:
    """Rows of a float32 table `(..., width)`, or gathered from one -> what `codecs.decoded` makes of them.

    `codec` is a key of `codecs.CODECS`. Straight through. Rounding a gathered row is rounding the table, as a row's
    scales are its own. A number that lies halfway between two steps, to float32's precision, may go to the other one;
    and where a compiler multiplies by 1 / 127 instead of dividing, some rows' scales are one unit of 2^-24 larger.
    """
    return straight_through(x, ROUNDED[codec](ops.stop_gradient(x)))


def fake_codewords(x: Tensor, ids: Tensor, stored: StoredTable) -> Tensor:
    """Rows float32 `(1, t, w)` of a table, by `ids` `(1, t)` -> what `StoredTable.keep` makes of them.

    Straight through. Rows that moved have 4 bits a number, as if all of them were promoted; others are as they were.
    """
    fixed = ops.stop_gradient(x)
    before = ops.take(stored.values, ids, axis=0)
    far = ops.max(ops.abs(fixed - before), axis=-1, keepdims=True)
    moved = ops.greater(far, STILL * ops.max(ops.abs(fixed), axis=-1, keepdims=True))
    return straight_through(x, ops.where(moved, four_bits(fixed), fixed))


def fake_kernel(kernel: Tensor, levels: int = LEVELS) -> Tensor:
    """A kernel `(in, out)` -> whole numbers up to `levels` times a scale an output channel. Straight through."""
    fixed = ops.stop_gradient(kernel)
    scale = ops.maximum(ops.max(ops.abs(fixed), axis=0), 1e-12) / levels
    return straight_through(kernel, ops.round(fixed / scale) * scale)


def straight_through(x: Tensor, value: Tensor) -> Tensor:
    """`value`, with the gradient of `x`."""
    return x + ops.stop_gradient(value - x)


def fake_encode(encoder: Model, precision: Precision, packed: Mapping[str, Tensor]) -> Tensor:
    """`Student.encode_packed` of `packed` arrays with the weights that an artefact of this `Precision` has.

    Gradients reach the encoder's own variables. The dense layers are those of the bundle, see `fake_kernels`.
    """
    # Inside the scope a variable that is not mapped is, on JAX, a constant without a gradient; so all are.
    unrounded = [(weight, weight.value) for weight in encoder.weights]
    table = partial(fake_rows, codec=precision.table)
    if precision.stored:
        table = partial(fake_codewords, ids=packed["pieces"][None], stored=precision.stored)
    with keras.StatelessScope([*unrounded, *fake_kernels(encoder, precision.dense)]):
        return encoder.encode_packed(**packed, table=table)


@contextmanager
def quantised(encoder: Model, precision: Precision) -> Iterator[Model]:
    """Within it the encoder's own weights are those rounded ones; after it, whatever happens, what they were."""
    before, table = encoder.get_weights(), encoder.get_layer("embedding").embeddings
    try:
        for variable, value in fake_kernels(encoder, precision.dense):
            variable.assign(value)
        if precision.stored or ROUNDED[precision.table] is not float32:
            table.assign(precision.kept(np.asarray(table)))
        yield encoder
    finally:
        encoder.set_weights(before)


def fake_kernels(encoder: Model, dense: str) -> Rounded:
    """The encoder's dense kernels as a bundle has them: `[(variable, value)]`, none when `dense` is float32.

    Nearly so where the head begins: a bundle multiplies pooling's kernel by the two that follow (`rewrite.merged`) and
    rounds the product. Here these two are rounded and pooling's is not, so that the product is rounded once too.
    With a factorised table it multiplies the factor into the projections, with a projection of a static student that
    into the last product; here each is rounded by itself. Left out is also that runtimes round a layer's input, that an
    ONNX file keeps the head in float16, and that it gives some channels a larger scale. A projection on all dimensions,
    nearly the identity, stays as it is: a bundle has it in a finer form (`rewrite.complement`). One into another
    encoder's space is a dense layer as any.
    """
    if dense == "float32":
        return []
    rounded = encoder.foreign or encoder.space not in (None, encoder.dimension)
    kernels = [*encoder.rounded_kernels, *([(encoder.get_layer("projection").kernel, None)] if rounded else [])]
    narrow = encoder.narrow_kernels if dense == "int4" else {}
    return [(kernel, fake_scaled(kernel, scale, narrow.get(kernel.path))) for kernel, scale in kernels]


def fake_scaled(kernel: Tensor, scale: Tensor | None, wide: int | None = None) -> Tensor:
    """`fake_mixed` of a kernel `(in, out)` that an export divides by `scale` `(in, 1)` before it rounds it."""
    return fake_mixed(kernel, wide) if scale is None else fake_mixed(kernel / scale, wide) * scale


def fake_mixed(kernel: Tensor, wide: int | None = None) -> Tensor:
    """`fake_kernel` in 8 bits, or in 4 of all inputs but the first `wide`."""
    if not wide:
        return fake_kernel(kernel, LEVELS if wide is None else LEVELS_OF_4)
    return ops.concatenate([fake_kernel(kernel[:wide], LEVELS), fake_kernel(kernel[wide:], LEVELS_OF_4)])


def float32(rows: Tensor) -> Tensor:
    """The rows as they are."""
    return rows


def eight_bits(rows: Tensor) -> Tensor:
    """The rows as `uint8_rows` and `int8_rows` keep them."""
    scale = ops.maximum(ops.max(ops.abs(rows), axis=-1, keepdims=True) / LEVELS, 1 / ONE)
    scale = ops.ceil(scale * ONE) / ONE
    return ops.clip(ops.round(rows / scale), -ZERO, ZERO - 1) * scale


def four_bits(rows: Tensor) -> Tensor:
    """The rows as `int4_rows` keeps them."""
    width = rows.shape[-1]
    padded = ops.pad(rows, [[0, 0]] * (len(rows.shape) - 1) + [[0, -width % GROUP]])
    groups = ops.reshape(padded, (*ops.shape(padded)[:-1], -1, GROUP))
    step = ops.expand_dims(group_step(groups), -1)
    codes = ops.clip(ops.round(groups / step), INT4_LOWEST, INT4_HIGHEST)
    return ops.reshape(codes * step, ops.shape(padded))[..., :width]


def group_step(groups: Tensor) -> Tensor:
    """`codecs.group_steps`, multiplied out: float32 `(..., groups, GROUP)` -> `(..., groups)`."""
    wanted = ops.maximum(ops.max(groups, axis=-1) / INT4_HIGHEST, ops.min(groups, axis=-1) / INT4_LOWEST)
    wanted = ops.ceil(wanted * ONE)
    scale = ops.maximum(quotient_up(ops.max(wanted, axis=-1, keepdims=True), STEPS), 1)
    return ops.clip(quotient_up(wanted, scale), 1, STEPS) * (scale / ONE)


def quotient_up(whole: Tensor, divisor: Tensor) -> Tensor:
    """ceil(whole / divisor) of whole numbers in float32.

    Exact below `EXACT`: in float32 the quotient may cross a whole number, and the next step is several per cent away.
    """
    whole, divisor = ops.convert_to_tensor(whole), ops.cast(divisor, "float32")
    small = ops.maximum(whole, divisor) < EXACT
    bounded = [ops.cast(ops.where(small, part, 1.0), "int32") for part in (whole, divisor)]
    exact = ops.floor_divide(bounded[0] + bounded[1] - 1, bounded[1])
    return ops.where(small, ops.cast(exact, "float32"), ops.ceil(whole / divisor))


# How a table's rows are rounded, under the names of `codecs.CODECS`.
# A table of codewords is made before its student is trained, and stays; of the last two a row alone tells no place.
ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {
    "float32": float32,
    "uint8": eight_bits,
    "int8-row": eight_bits,
    "int4": four_bits,
}
ROUNDED |= dict.fromkeys(("pq4", "pq8", "int4-pq3", "int4-pq5"), float32)
