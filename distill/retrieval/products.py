"""Products of a question and stored rows: quick ones of all rows, with what they may be off by, and exact ones of few.

The quick ones are by numkong where that is installed (`distill[search]`), of the question in int8, else by NumPy.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, Integers
from .blocks import spans
from .codes import WHOLE, quantised, unpacked

# Numbers that are float32 at once: they stay in a core's cache, and OpenBLAS multiplies so few on one thread, since its
# threads wait for each other, on a busy machine for milliseconds a product.
NUMBERS = 2**17
# What a sum of float32 may be off by; lengths of stored rows, which are about 1, at most.
ROUNDING, LONGEST = 1e-5, 1.01


class Int8Rows:
    """Rows as int8 `codes` `(n, d)` with float32 `scales` `(n,)`, memory-mapped or not, of length `longest` at most."""

    def __init__(self, codes: NDArray[np.int8], scales: Floats, longest: float = LONGEST) -> None:
        self.codes, self.scales, self.longest = codes, scales, longest

    def quick(self, question: Floats) -> tuple[Floats, float]:
        """Return float32 `(n,)`, products of all rows with `(d,)`, and how far each is from the exact one at most."""
        if not has_kernel():
            return multiply_blocks(question, self.codes) * self.scales, ROUNDING
        codes, scale = quantised(question[None])
        left = float(np.linalg.norm(question - codes[0] * scale[0]))
        return _by_kernel(codes, self.codes) * (self.scales * scale[0]), self.longest * left + ROUNDING

    def exact(self, question: Floats, rows: Integers) -> NDArray[np.float64]:
        """Return float64 `(r,)`, the products of some rows, the same whatever rows they are computed with."""
        return (self.codes[rows] * question.astype(np.float64)).sum(axis=1) * self.scales[rows]


def stored_rows(codes: NDArray[np.int8] | NDArray[np.uint8], scales: Floats, bits: int, axes: int) -> Int8Rows:
    """Return rows of so many bits a number; those of fewer than 8 are held as int8, a byte a number."""
    if bits == WHOLE:
        return Int8Rows(codes.view(np.int8), scales)
    longest = float(scales.max(initial=0)) * ((1 << bits) - 1) * axes**0.5
    return Int8Rows(unpacked(codes.view(np.uint8), bits, axes), scales, longest)


@cache
def has_kernel() -> bool:
    """Return True where numkong is installed."""
    return find_spec("numkong") is not None


def multiply_blocks(question: Floats, rows: NDArray[np.int8] | Floats) -> Floats:
    """Return the products of `(d,)` and int8 or float32 rows `(n, d)`, float32 `(n,)`; of whole int8 they are exact."""
    many = max(1, NUMBERS // len(question))
    products, held = np.empty(len(rows), np.float32), np.empty((many, len(question)), np.float32)
    for block in spans(len(rows), many):
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
