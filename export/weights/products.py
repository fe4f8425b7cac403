"""Product quantisation: a row in pieces of a few numbers, each the nearest of 256 codewords. NumPy alone.

Jégou, Douze and Schmid (2011). Each place of a row has its own codebook, learned by k-means (Lloyd, 1982).
Where a place holds no more than 256 different values these are its codewords: what was quantised once stays as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system.types import Floats, Integers

CODEWORDS = 256
ROUNDS, SAMPLE = 12, 8192
# Values at once, whose distances to all codewords a processor's cache holds.
BLOCK = 8192
# The longest row over the shortest that a length in 7 bits tells from none.
LONGEST = 127


def product_codes(table: Floats, size: int, whole: int = 0, seed: int = 0) -> tuple[NDArray[np.uint8], Floats]:
    """float32 `(rows, width)` -> uint8 codes `(rows, places)` and codebooks float32 `(places, 256, size)`.

    `places` is width / size, rounded up; what stands beyond the width is zero. `whole` rounds of k-means see all rows.
    """
    places = -(-table.shape[1] // size)
    padded = np.pad(table, [(0, 0), (0, places * size - table.shape[1])])
    codes, books = np.empty((len(table), places), np.uint8), np.empty((places, CODEWORDS, size), np.float32)
    for place in range(places):
        values = np.ascontiguousarray(padded[:, place * size : (place + 1) * size], dtype=np.float32)
        books[place] = codebook(values, np.random.default_rng([seed, place]), whole)
        codes[:, place] = nearest(values, books[place])
    return codes, books


def codebook(values: Floats, random: np.random.Generator, whole: int = 0) -> Floats:
    """256 codewords `(256, size)` for values `(n, size)`, of a sample of them, then in `whole` rounds of all."""
    distinct = np.unique(values[:: max(1, len(values) // SAMPLE)], axis=0)
    if len(distinct) <= CODEWORDS:
        distinct = np.unique(values, axis=0)
    if len(distinct) <= CODEWORDS:
        return np.concatenate([distinct, np.repeat(distinct[-1:], CODEWORDS - len(distinct), axis=0)])
    sample = random.permutation(values)[:SAMPLE]
    words = cluster(sample, CODEWORDS, random)
    for _ in range(whole):
        words = _means(values, nearest(values, words), words, random)
    return words


def cluster(values: Floats, count: int, random: np.random.Generator) -> Floats:
    """Return so many centroids of values `(n, width)`, of which there are as many at least, by k-means."""
    words = values[random.choice(len(values), count, replace=False)]
    for _ in range(ROUNDS):
        words = _means(values, nearest(values, words), words, random)
    return words


def nearest(values: Floats, words: Floats) -> Integers:
    """The place of the codeword with the least squared distance, the first of equals: `(n,)`."""
    places, half = np.empty(len(values), np.int64), np.sum(words**2, axis=1) / 2
    for start in range(0, len(values), BLOCK):
        part = slice(start, start + BLOCK)
        places[part] = np.argmax(values[part] @ words.T - half, axis=1)
    return places


def row_lengths(rows: Floats) -> Floats:
    """The lengths of rows `(n, width)`, as `(n, 1)`: the longest's through `LONGEST` at least, and above zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    longest = lengths.max(initial=0) or 1
    return np.maximum(lengths, longest / LONGEST)


def _means(values, codes, words, random):
    """The mean of each codeword's values; one that no value took begins anew at a value drawn by chance."""
    counts = np.bincount(codes, minlength=len(words))
    sums = np.stack([np.bincount(codes, column, len(words)) for column in values.T], axis=1)
    fresh = values[random.integers(len(values), size=len(words))]
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], fresh).astype(np.float32)
