"""Vectors in int8, or in fewer bits, with a scale a row.

A code c of b bits, fewer than 8, stands for the odd number 2 c + 1 - 2^b: 1 bit for -1 and 1, 2 bits for -3, -1, 1
and 3. A number is that times the scale of its row. Codes are end to end in a row's bytes, the first in the lowest bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats

LARGEST = 127
WHOLE, FEW = 8, (1, 2, 4)
# Steps between numbers that are tried, in root mean squares of a row: around the best ones of a normal distribution.
STEPS = {1: (1.0,), 2: (0.8, 0.9, 1.0, 1.1, 1.25), 4: (0.25, 0.3, 0.335, 0.37, 0.42)}


def quantised(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return int8 codes `(n, d)` and float32 scales `(n,)` of float32 rows: a number is its code times its row's scale.

    A scale is the row's greatest magnitude / 127, rounded to the nearest code, half to even; a row of zeros has 0.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(LARGEST)
    codes = np.rint(vectors / np.where(scales > 0, scales, np.float32(1))[:, None])
    return codes.astype(np.int8), scales


def coded(vectors: Floats, bits: int) -> tuple[NDArray[np.int8] | NDArray[np.uint8], Floats]:
    """Return codes of so many bits of float32 rows, and float32 scales: `quantised` or `packed`."""
    return quantised(vectors) if bits == WHOLE else packed(vectors, bits)


def width(axes: int, bits: int) -> int:
    """Return the bytes of a row."""
    return -(-axes * bits // 8)


def packed(vectors: Floats, bits: int) -> tuple[NDArray[np.uint8], Floats]:
    """Return uint8 codes `(n, width)` of float32 rows `(n, axes)`, and float32 scales `(n,)`.

    Of the steps that are tried the one with the greatest cosine to the row. The scale makes the product with the row
    itself the square of its length, so that a product with a question is right on average (RaBitQ, Gao & Long, 2024).
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
    return _packed(codes, bits), squares / np.where(products > 0, products, np.float32(1))


def _codes(vectors, steps, bits):
    half = 1 << (bits - 1)
    codes = np.floor(vectors / np.where(steps > 0, steps, np.float32(1))[:, None]) + half
    return np.clip(codes, 0, 2 * half - 1).astype(np.uint8)


def _odd(codes, bits):
    return (2 * codes.astype(np.int16) + 1 - (1 << bits)).astype(np.int8)


def _packed(codes, bits):
    rows, axes = codes.shape
    parts = np.zeros((rows, width(axes, bits), 8 // bits), dtype=np.uint8)
    parts.reshape(rows, parts.shape[1] * parts.shape[2])[:, :axes] = codes
    return np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=2)


def unpacked(codes: NDArray[np.uint8], bits: int, axes: int) -> NDArray[np.int8]:
    """Return the odd numbers, int8 `(n, axes)`, of the bytes of rows."""
    per = 8 // bits
    every = np.arange(256, dtype=np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    table = _odd(every & ((1 << bits) - 1), bits).view(f"V{per}")[:, 0]
    return table[codes].view(np.int8).reshape(len(codes), codes.shape[1] * per)[:, :axes]
