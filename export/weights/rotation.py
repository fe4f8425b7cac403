"""Rotate an embedding table such that codewords lose less; what reads the table is rotated back.

Ge, He, Ke and Sun (2013), Optimized Product Quantization, section 3.2.2: the columns become principal directions, which
are distributed over the places of the codewords so that the product of the variances is about the same in each. NumPy
only.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Floats, Integers
from .products import row_lengths

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
