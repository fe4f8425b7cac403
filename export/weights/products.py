"""Product quantisation: split a row into parts of a few numbers and store for each the nearest of 256 codewords.

Jégou, Douze and Schmid (2011). Each place of a row has its own codebook, learned by k-means (Lloyd, 1982). If a place
has at most 256 different values, these are its codewords, so quantising a second time changes nothing. NumPy only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system.types import Floats, Integers

CODEWORDS = 256
ROUNDS, SAMPLE = 12, 8192
# Values are processed in blocks whose distances to all codewords fit into a processor's cache.
BLOCK = 8192
# The largest ratio of two lengths that 7 bits can represent.
LONGEST = 127


def product_codes(table: Floats, size: int, whole: int = 0, seed: int = 0) -> tuple[NDArray[np.uint8], Floats]:
    """Quantise a table to codes uint8 `(rows, places)` and codebooks float32 `(places, 256, size)`.

    `places` is width / size, rounded up; columns beyond the width are zero. `whole` are the rounds of k-means on all
    rows, after those on a sample.
    """
    places = -(-table.shape[1] // size)
    padded = np.pad(table, [(0, 0), (0, places * size - table.shape[1])])
    codes, books = np.empty((len(table), places), np.uint8), np.empty((places, CODEWORDS, size), np.float32)
    for place in range(places):
        values = np.ascontiguousarray(padded[:, place * size : (place + 1) * size], dtype=np.float32)
        books[place] = learn_codebook(values, np.random.default_rng([seed, place]), whole)
        codes[:, place] = find_nearest(values, books[place])
    return codes, books


def learn_codebook(values: Floats, random: np.random.Generator, whole: int = 0) -> Floats:
    """Learn a codebook `(256, size)` by k-means, first on a sample of the values `(n, size)`."""
    distinct = np.unique(values[:: max(1, len(values) // SAMPLE)], axis=0)
    if len(distinct) <= CODEWORDS:
        distinct = np.unique(values, axis=0)
    if len(distinct) <= CODEWORDS:
        return np.concatenate([distinct, np.repeat(distinct[-1:], CODEWORDS - len(distinct), axis=0)])
    sample = random.permutation(values)[:SAMPLE]
    words = cluster(sample, CODEWORDS, random)
    for _ in range(whole):
        words = _means(values, find_nearest(values, words), words, random)
    return words


def cluster(values: Floats, count: int, random: np.random.Generator) -> Floats:
    """Find `count` centroids of values `(n, width)`, at least as many, by k-means."""
    words = values[random.choice(len(values), count, replace=False)]
    for _ in range(ROUNDS):
        words = _means(values, find_nearest(values, words), words, random)
    return words


def find_nearest(values: Floats, words: Floats) -> Integers:
    """Find the codeword with the least squared distance to each value, the first one of equals."""
    places, half = np.empty(len(values), np.int64), np.sum(words**2, axis=1) / 2
    for start in range(0, len(values), BLOCK):
        part = slice(start, start + BLOCK)
        places[part] = np.argmax(values[part] @ words.T - half, axis=1)
    return places


def row_lengths(rows: Floats) -> Floats:
    """Compute the lengths of rows `(n, width)` as `(n, 1)`, at least the longest over `LONGEST` and above zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    longest = lengths.max(initial=0) or 1
    return np.maximum(lengths, longest / LONGEST)


def _means(values, codes, words, random):
    """Return the mean of each codeword's values; a codeword without values restarts at a randomly drawn value."""
    counts = np.bincount(codes, minlength=len(words))
    sums = np.stack([np.bincount(codes, column, len(words)) for column in values.T], axis=1)
    fresh = values[random.integers(len(values), size=len(words))]
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], fresh).astype(np.float32)
