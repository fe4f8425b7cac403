"""Parts of an ONNX graph: products in whole numbers, lookups in a quantised table, scaling to unit length.

A kernel is float32 `(in, out)`, and `width` is the number of columns of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...system.types import Floats
from ..weights.codecs import CODECS, FRACTION_BITS, GROUP, INT4_ZERO, ZERO, encode_table
from ..weights.kernels import LEVELS, quantize_channels
from ..weights.products import CODEWORDS
from .nodes import Graph

EPSILON = 1e-12
# The end of a slice without an upper bound.
TO_END = np.iinfo(np.int64).max
# A function that adds the nodes of a value times a kernel, with its constants under a name.
Product: TypeAlias = Callable[[Graph, str, str, Floats], str]


def float_product(g: Graph, x: str, name: str, kernel: Floats) -> str:
    """Add the product of a value `(..., in)` and a float32 kernel, `(..., out)`."""
    return g.add("MatMul", x, g.constant(f"{name}/kernel", kernel))


def half_product(g: Graph, x: str, name: str, kernel: Floats) -> str:
    """Add the same product with a float16 kernel, which a runtime converts to float32 once, when it loads the file."""
    return g.add("MatMul", x, g.cast(g.constant(f"{name}/kernel", kernel.astype(np.float16)), "float32"))


def int8_product(g: Graph, x: str, name: str, kernel: Floats) -> str:
    """Add the same product in whole numbers, with a scale per output channel and a step per row of `x`.

    Rows are uint8 with 128 for zero, because onnxruntime multiplies uint8 by int8 several times faster than int8 by
    int8. The largest number of a row becomes 127.
    """
    codes, scales = quantize_unsaturated(kernel)
    largest = g.add("ReduceMax", g.add("Abs", x), axes=[-1], keepdims=1)
    step = g.add("Mul", g.add("Max", largest, g.number(EPSILON)), g.number(1 / LEVELS))
    whole = g.cast(g.add("Add", g.add("Round", g.add("Div", x, step)), g.number(float(ZERO))), "uint8")
    y = g.add("MatMulInteger", whole, g.constant(f"{name}/kernel", codes), g.number(ZERO, "uint8"))
    return g.add("Mul", g.add("Mul", g.cast(y, "float32"), step), g.constant(f"{name}/scales", scales))


def quantize_unsaturated(kernel: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Quantise a kernel as `quantize_channels` does, such that no two products overflow 16 bits.

    Processors with AVX2 only add two neighbouring products in 16 bits and clip the sum. Therefore two neighbours of a
    channel sum to at most 128, as 128 * 255 fits; where they would not, the channel's scale is increased.
    """
    codes, scales = quantize_channels(kernel)
    pairs = [np.maximum(sign * codes, 0) for sign in (1, -1)]
    largest = np.max([part[:-1] + part[1:] for part in pairs], axis=(0, 1), initial=LEVELS)
    scales = (scales * (largest / LEVELS)).astype(np.float32)
    return np.round(kernel / scales).astype(np.int8), scales


# The products for tokens and for the one row of a text. A text's row stays float: it is a small part
# of the work, and rounding it would make a difference of 1e-7 between two batches one of 1e-3.
PRODUCTS: dict[str, tuple[Product, Product]] = {
    "int8": (int8_product, half_product),
    "float32": (float_product, float_product),
}


def make_lookup(g: Graph, table: Floats, codec: str, name: str) -> Callable[[str], str]:
    """Store a table and return a function from the name of ids `(b, t)` to that of their rows `(b, t, w)`."""
    stored = [g.constant(f"{name}/{number}", array) for number, array in enumerate(encode_table(codec, table))]
    rows, shared = CODECS[codec].split(stored)

    def lookup(ids: str) -> str:
        gathered = [g.add("Gather", array, ids) for array in rows] or [ids]
        return LOOKUPS[codec](g, *gathered, *shared, width=table.shape[1])

    return lookup


def float32_lookup(g: Graph, rows: str, width: int) -> str:
    """Return gathered rows of `codecs.float32_rows` as they are."""
    return rows


def uint8_lookup(g: Graph, codes: str, scales: str, width: int) -> str:
    """Decode gathered rows of `codecs.uint8_rows`."""
    return g.add("Mul", g.add("Sub", g.cast(codes, "float32"), g.number(ZERO)), scales_as_float(g, scales))


def int8_lookup(g: Graph, codes: str, scales: str, width: int) -> str:
    """Decode rows of `codecs.int8_rows`. Returns the name of the rows `(b, t, width)`."""
    return g.add("Mul", g.cast(codes, "float32"), scales_as_float(g, scales))


def int4_lookup(g: Graph, packed: str, steps: str, scales: str, width: int) -> str:
    """Decode rows of `codecs.int4_rows`: the halves of bytes are the halves of a row, and each group has its step."""
    four = g.number(4, "uint8")
    low = g.add("BitShift", g.add("BitShift", packed, four, direction="LEFT"), four, direction="RIGHT")
    halves = g.add("Concat", low, g.add("BitShift", packed, four, direction="RIGHT"), axis=-1)
    codes = g.add("Sub", g.cast(halves, "float32"), g.number(INT4_ZERO))
    steps = g.add("Unsqueeze", g.add("Mul", g.cast(steps, "float32"), scales_as_float(g, scales)), g.numbers(-1))
    rows = g.add("Mul", g.add("Reshape", codes, g.numbers(0, 0, -1, GROUP)), steps)
    return _cut(g, g.add("Reshape", rows, g.numbers(0, 0, -1)), width, GROUP)


def product_lookup(g: Graph, codes: str, words: str, scales: str, width: int, size: int) -> str:
    """Decode rows of `codecs.product_rows` by concatenating the codewords, `(places * 256, size)`, of their places."""
    where = _places(g, codes, width, size)
    rows = uint8_lookup(g, g.add("Gather", words, where), g.add("Gather", scales, where), width)
    return _cut(g, g.add("Reshape", rows, g.numbers(0, 0, -1)), width, size)


def column_lookup(g: Graph, codes: str, words: str, step: str, width: int, size: int) -> str:
    """Decode rows of `codecs.column_rows`: concatenated codewords times the last column and the step."""
    rows = g.cast(g.add("Gather", words, _places(g, codes, width + 1, size)), "float32")
    rows = g.add("Reshape", rows, g.numbers(0, 0, -1))
    lengths = g.add("Slice", rows, g.numbers(-1), g.numbers(TO_END), g.numbers(-1))
    rows = g.add("Slice", rows, g.numbers(0), g.numbers(width), g.numbers(-1))
    return g.add("Mul", rows, g.add("Mul", lengths, step))


def _places(g, codes, width, size):
    starts = np.arange(0, -(-width // size) * CODEWORDS, CODEWORDS, dtype=np.int32)
    return g.add("Add", g.cast(codes, "int32"), g.constant("table/starts", starts))  # (b, t, places)


def _cut(g, rows, width, part):
    """Cut rows of whole parts to the width, beyond which the last part may reach."""
    return rows if width % part == 0 else g.add("Slice", rows, g.numbers(0), g.numbers(width), g.numbers(-1))


def mixed_lookup(g: Graph, ids: str, *arrays: str, width: int, size: int) -> str:
    """Decode rows of `codecs.mixed_rows`: ids below the number of frequent rows are looked up among these."""
    *first, codes, words, step, count = arrays
    frequent, zero = g.add("Less", ids, count), g.number(0, "int32")
    place, rest = g.add("Where", frequent, ids, zero), g.add("Where", frequent, zero, g.add("Sub", ids, count))
    packed, steps, scales = (g.add("Gather", array, place) for array in first)
    four = int4_lookup(g, packed, steps, scales, width)
    product = column_lookup(g, g.add("Gather", codes, rest), words, step, width, size)
    return g.add("Where", g.add("Unsqueeze", frequent, g.numbers(-1)), four, product)


def scales_as_float(g: Graph, scales: str) -> str:
    """Convert scales in fixed point to float32."""
    return g.add("Mul", g.cast(scales, "float32"), g.number(2.0**-FRACTION_BITS))


# The lookups by codec. They decode gathered rows, or take ids if the codec gathers no rows by them.
LOOKUPS: dict[str, Callable] = {
    "float32": float32_lookup,
    "uint8": uint8_lookup,
    "int8-row": int8_lookup,
    "int4": int4_lookup,
    "pq4": partial(product_lookup, size=4),
    "pq8": partial(product_lookup, size=8),
    "int4-pq3": partial(mixed_lookup, size=3),
    "int4-pq5": partial(mixed_lookup, size=5),
}


def gelu(g: Graph, x: str) -> str:
    """Add the Gaussian error linear unit of a value."""
    share = g.add("Add", g.add("Erf", g.add("Div", x, g.number(2**0.5))), g.number(1))
    return g.add("Mul", g.add("Mul", x, share), g.number(0.5))


def gelu_tanh(g: Graph, x: str) -> str:
    """Add `gelu` approximated by a hyperbolic tangent: Hendrycks and Gimpel (2016), Gaussian error linear units."""
    cube = g.add("Mul", g.add("Mul", x, g.add("Mul", x, x)), g.number(0.044715))
    bent = g.add("Tanh", g.add("Mul", g.add("Add", x, cube), g.number((2 / np.pi) ** 0.5)))
    return g.add("Mul", g.add("Mul", x, g.add("Add", bent, g.number(1))), g.number(0.5))


# Activations by Keras's names.
ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "linear": lambda g, x: x,
    "relu": lambda g, x: g.add("Relu", x),
    "tanh": lambda g, x: g.add("Tanh", x),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
}


def to_unit_length(g: Graph, x: str, name: str) -> str:
    """Scale rows to unit length. `x` are the rows `(b, d)`."""
    square = g.add("ReduceSum", g.add("Mul", x, x), g.numbers(-1), keepdims=1)
    return g.add("Div", x, g.add("Sqrt", g.add("Max", square, g.number(EPSILON))), name=name)


def stack_windows(g: Graph, x: str, order: int) -> str:
    """Concatenate each token with its neighbours, with zeros beyond the ends: `(b, t, order * c)`."""
    reach = order - 1
    padded = g.add("Pad", x, g.numbers(0, reach // 2, 0, 0, reach - reach // 2, 0))
    ends = [place - reach or TO_END for place in range(order)]
    shifts = [g.add("Slice", padded, g.numbers(place), g.numbers(end), g.numbers(1)) for place, end in enumerate(ends)]
    return g.add("Concat", *shifts, axis=-1)
