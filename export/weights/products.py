"""Product quantisation: split a row into parts of a few numbers and store for each the nearest of 256 codewords.

Jégou, Douze and Schmid (2011). Each place of a row has its own codebook, learned by k-means (Lloyd, 1982). If a place
has at most 256 different values, these are its codewords, so quantising a second time changes nothing. NumPy only.

Codewords lose less of a table that is rotated before; what reads the table is rotated back. Ge, He, Ke and Sun (2013),
Optimized Product Quantization, section 3.2.2: the columns become principal directions, which are distributed over the
places of the codewords so that the product of the variances is about the same in each.
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


TABLE = "embedding/embeddings"
# The least variance as a share of the mean one; a table of few rows has directions without any variance.
LEAST = 1e-6


def compute_rotation(rows: Floats, size: int) -> Floats:
    """Compute the orthogonal matrix to multiply rows by before every `size` columns become a codeword.

    It keeps the mean of a row, for a normalisation behind the table.
    """
    directions = rows / row_lengths(rows)
    directions = directions - directions.mean(axis=0)
    variances, axes = np.linalg.eigh((directions.T @ directions / len(rows)).astype(np.float64))
    variances = np.maximum(variances, LEAST * max(variances.mean(), np.finfo(np.float32).tiny))
    basis, body = axes[:, deal_columns(variances, size)], len(axes) // size * size
    # Codewords do not depend on the basis of their place, but int4 has one step for columns of several places.
    basis[:, :body] = (basis[:, :body].reshape(len(axes), -1, size) @ dct_matrix(size)).reshape(len(axes), body)
    return keep_mean(basis)


def deal_columns(variances: Floats, size: int) -> Integers:
    """Order columns by their variances such that each run of `size` columns has about the same product of variances.

    The largest variance goes to the run with the least product so far. The least columns, which fill no run, come last.
    """
    order = np.argsort(-variances, kind="stable")
    count = len(order) // size
    logs, left = np.log(variances / variances.min()) + 1, order[count * size :]
    products, runs = np.zeros(count), [[] for _ in range(count)]
    for column in order[: count * size]:
        run = int(np.argmin(products))
        runs[run].append(column)
        products[run] = np.inf if len(runs[run]) == size else products[run] + logs[column]
    return np.array([column for run in runs for column in run] + left.tolist(), dtype=np.int64)


def dct_matrix(size: int) -> Floats:
    """Return an orthogonal matrix `(size, size)` that spreads each direction: the discrete cosine transform."""
    places = np.arange(size)
    matrix = np.cos(np.pi * np.outer(places, 2 * places + 1) / (2 * size)) * np.sqrt(2 / size)
    matrix[0] /= np.sqrt(2)
    return matrix


def keep_mean(basis: Floats) -> Floats:
    """Rotate an orthogonal matrix `(w, w)` such that multiplying a row by it keeps the sum of the row."""
    ones = np.full(len(basis), len(basis) ** -0.5)
    before = ones @ basis
    if before @ ones < 0:
        # Opposite vectors span no plane, and the negated matrix is as good.
        return keep_mean(-basis)
    both = before + ones
    turn = np.eye(len(basis)) - np.outer(both, both) / (1 + before @ ones) + 2 * np.outer(before, ones)
    return basis @ turn
