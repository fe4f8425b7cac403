"""Vectors in int8 or in fewer bits, with one scale per row, and products of a question with them.

A code c of b bits, fewer than 8, stands for the odd number 2 c + 1 - 2^b: with 1 bit -1 and 1, with 2 bits -3, -1, 1
and 3. The value is that number times the scale of its row. Codes are packed end to end in the bytes of a row, the first
in the lowest bits.

Quick products of all rows have an error bound, and exact ones are of a few rows. The quick ones are computed by numkong
from the question in int8 where numkong is installed (extra `search`), else by NumPy.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, Integers
from .blocks import spans

LARGEST = 127
WHOLE, FEW = 8, (1, 2, 4)
# Candidate steps between values, in root mean squares of a row, around the best step for a normal distribution.
STEPS = {1: (1.0,), 2: (0.8, 0.9, 1.0, 1.1, 1.25), 4: (0.25, 0.3, 0.335, 0.37, 0.42)}


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Quantise rows to the nearest int8 codes, half to even; the scale of a row is its greatest magnitude / 127."""
    vectors = np.asarray(vectors, dtype=np.float32)
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(LARGEST)
    codes = np.rint(vectors / np.where(scales > 0, scales, np.float32(1))[:, None])
    return codes.astype(np.int8), scales


def quantise_to_bits(vectors: Floats, bits: int) -> tuple[NDArray[np.int8] | NDArray[np.uint8], Floats]:
    """Quantise rows to 8, 4, 2 or 1 bits: int8 codes or else packed uint8, and float32 scales `(n,)`."""
    return quantise(vectors) if bits == WHOLE else quantise_packed(vectors, bits)


def packed_width(axes: int, bits: int) -> int:
    """Return the number of bytes of a row."""
    return -(-axes * bits // 8)


def quantise_packed(vectors: Floats, bits: int) -> tuple[NDArray[np.uint8], Floats]:
    """Quantise rows to fewer than 8 bits and pack the codes.

    Of several candidate steps the one with the greatest cosine to the row is used. The scale makes the product with the
    row itself equal to its squared length, so that a product with a question is right on average (RaBitQ, Gao & Long,
    2024).
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    squares = (vectors * vectors).sum(axis=1)
    means = np.sqrt(squares / max(vectors.shape[1], 1))
    best = np.full(len(vectors), -np.inf, dtype=np.float32)
    codes, products = np.zeros(vectors.shape, dtype=np.uint8), np.ones(len(vectors), dtype=np.float32)
    for step in STEPS[bits]:
        tried = _codes(vectors, means * np.float32(step), bits)
        odd = _odd(tried, bits).astype(np.float32)
        product = (odd * vectors).sum(axis=1)
        cosines = product / np.sqrt((odd * odd).sum(axis=1))
        better = cosines > best
        codes[better], products[better], best[better] = tried[better], product[better], cosines[better]
    return _pack_codes(codes, bits), squares / np.where(products > 0, products, np.float32(1))


def _codes(vectors, steps, bits):
    half = 1 << (bits - 1)
    codes = np.floor(vectors / np.where(steps > 0, steps, np.float32(1))[:, None]) + half
    return np.clip(codes, 0, 2 * half - 1).astype(np.uint8)


def _odd(codes, bits):
    return (2 * codes.astype(np.int16) + 1 - (1 << bits)).astype(np.int8)


def _pack_codes(codes, bits):
    rows, axes = codes.shape
    parts = np.zeros((rows, packed_width(axes, bits), 8 // bits), dtype=np.uint8)
    parts.reshape(rows, parts.shape[1] * parts.shape[2])[:, :axes] = codes
    return np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=2)


def unpack(codes: NDArray[np.uint8], bits: int, axes: int) -> NDArray[np.int8]:
    """Return the odd numbers `(n, axes)` that packed codes `(n, packed_width)` stand for."""
    per = 8 // bits
    every = np.arange(256, dtype=np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    table = _odd(every & ((1 << bits) - 1), bits).view(f"V{per}")[:, 0]
    return table[codes].view(np.int8).reshape(len(codes), codes.shape[1] * per)[:, :axes]


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
