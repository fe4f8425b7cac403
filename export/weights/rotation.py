"""A rotation of an embedding table under which codewords lose less, taken out again by what reads the table.

Ge, He, Ke and Sun (2013), Optimized Product Quantization, section 3.2.2: the columns become principal directions,
dealt to the places of the codewords so that the product of the variances is about the same in each. NumPy alone.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Floats, Integers
from .products import row_lengths

TABLE = "embedding/embeddings"
# Of the mean variance. A table of few rows has directions without any.
LEAST = 1e-6


def rotation(rows: Floats, size: int) -> Floats:
    """The orthogonal matrix `(w, w)` to multiply rows by before every `size` columns become a codeword.

    It leaves the mean of a row as it is, for a normalisation behind the table.
    """
    directions = rows / row_lengths(rows)
    directions = directions - directions.mean(axis=0)
    variances, axes = np.linalg.eigh((directions.T @ directions / len(rows)).astype(np.float64))
    variances = np.maximum(variances, LEAST * max(variances.mean(), np.finfo(np.float32).tiny))
    basis, body = axes[:, dealt(variances, size)], len(axes) // size * size
    # Codewords are the same in any basis of their place, and int4 has one step for columns of several places.
    basis[:, :body] = (basis[:, :body].reshape(len(axes), -1, size) @ cosines(size)).reshape(len(axes), body)
    return mean_kept(basis)


def dealt(variances: Floats, size: int) -> Integers:
    """The columns in an order that gives each run of `size` about the same product of variances, `(w,)`.

    The largest is next, for the run of the least product so far; what fills no run, the least ones, stands last.
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


def cosines(size: int) -> Floats:
    """An orthogonal matrix `(size, size)` that spreads each direction: the discrete cosine transform."""
    places = np.arange(size)
    matrix = np.cos(np.pi * np.outer(places, 2 * places + 1) / (2 * size)) * np.sqrt(2 / size)
    matrix[0] /= np.sqrt(2)
    return matrix


def mean_kept(basis: Floats) -> Floats:
    """An orthogonal matrix turned in the one plane that takes the sum of a row times it back to the row's."""
    ones = np.full(len(basis), len(basis) ** -0.5)
    before = ones @ basis
    if before @ ones < 0:
        # Opposite vectors have no plane, and minus the matrix is as good.
        return mean_kept(-basis)
    both = before + ones
    turn = np.eye(len(basis)) - np.outer(both, both) / (1 + before @ ones) + 2 * np.outer(before, ones)
    return basis @ turn
