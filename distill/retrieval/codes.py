"""Vectors in int8 or in fewer bits, with one scale per row.

A code c of b bits, fewer than 8, stands for the odd number 2 c + 1 - 2^b: with 1 bit -1 and 1, with 2 bits -3, -1, 1
and 3. The value is that number times the scale of its row. Codes are packed end to end in the bytes of a row, the first
in the lowest bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats

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
