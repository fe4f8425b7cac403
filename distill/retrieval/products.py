"""Products of a question with stored rows: quick ones of all rows, with an error bound, and exact ones of a few rows.

The quick products are computed by numkong from the question in int8 where numkong is installed (extra `search`),
else by NumPy.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, Integers
from .blocks import spans
from .codes import WHOLE, quantise, unpack

# So many numbers are converted to float32 at once. They fit a core's cache, and OpenBLAS multiplies so few on one
# thread. Its threads wait for each other, which on a busy machine takes milliseconds per product.
NUMBERS = 2**17
# The error bound of a float32 sum, and the greatest length of stored rows, which is about 1.
ROUNDING, LONGEST = 1e-5, 1.01


class Int8Rows:
    """Rows stored as int8 `(n, d)`, memory-mapped or not, with a scale each."""

    def __init__(self, codes: NDArray[np.int8], scales: Floats, longest: float = LONGEST) -> None:
        self.codes, self.scales, self.longest = codes, scales, longest

    def approximate_products(self, question: Floats) -> tuple[Floats, float]:
        """Return approximate products of all rows with a question `(d,)`, float32 `(n,)`, and their error bound."""
        if not has_kernel():
            return multiply_blocks(question, self.codes) * self.scales, ROUNDING
        codes, scale = quantise(question[None])
        left = float(np.linalg.norm(question - codes[0] * scale[0]))
        return _by_kernel(codes, self.codes) * (self.scales * scale[0]), self.longest * left + ROUNDING

    def exact_products(self, question: Floats, rows: Integers) -> NDArray[np.float64]:
        """Return the exact products of some rows, which do not depend on the rows that they are computed with."""
        return (self.codes[rows] * question.astype(np.float64)).sum(axis=1) * self.scales[rows]


def stored_rows(codes: NDArray[np.int8] | NDArray[np.uint8], scales: Floats, bits: int, axes: int) -> Int8Rows:
    """Return stored rows; those of fewer than 8 bits are held as int8, with one byte per number."""
    if bits == WHOLE:
        return Int8Rows(codes.view(np.int8), scales)
    longest = float(scales.max(initial=0)) * ((1 << bits) - 1) * axes**0.5
    return Int8Rows(unpack(codes.view(np.uint8), bits, axes), scales, longest)


@cache
def has_kernel() -> bool:
    """Return True if numkong is installed."""
    return find_spec("numkong") is not None


def multiply_blocks(question: Floats, rows: NDArray[np.int8] | Floats) -> Floats:
    """Return the products of a question with rows; with whole int8 numbers they are exact."""
    count = max(1, NUMBERS // len(question))
    products, held = np.empty(len(rows), np.float32), np.empty((count, len(question)), np.float32)
    for block in spans(len(rows), count):
        part = rows[block]
        if part.dtype != np.float32:
            part = held[: block.stop - block.start]
            np.copyto(part, rows[block])
        np.matmul(part, question, out=products[block])
    return products


def _by_kernel(codes, rows):
    import numkong

    if not len(rows):
        return np.zeros(0, np.float32)
    return np.asarray(numkong.cdist(codes, rows, "dot", out_dtype="float32"))[0]
