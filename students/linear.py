"""Leading axes and least squares of vectors, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system.types import Doubles

RIDGE = 1e-4
# Directions in which vectors hardly differ are lengthened no more than those of this share of the mean energy.
LEAST_ENERGY = 4e-4


def leading_axes(table: ArrayLike, rank: int, counts: ArrayLike | None = None) -> Doubles:
    """Return the `rank` leading right singular vectors of `(rows, w)`, float64 `(w, rank)`, longest first."""
    table = np.asarray(table, dtype=np.float64)
    weighted = table if counts is None else table * np.asarray(counts, dtype=np.float64)[:, None]
    _, vectors = np.linalg.eigh(table.T @ weighted)
    return vectors[:, ::-1][:, :rank]


def linear_map(x: NDArray[np.floating], y: NDArray[np.floating], strength: float = RIDGE) -> Doubles:
    """Return the kernel `(in, out)`, float64, of least |x K - y|^2 with a ridge, `strength` of x's mean square."""
    x, y = x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)
    square = x.T @ x
    square[np.diag_indices_from(square)] += strength * np.trace(square) / len(square)
    return np.linalg.solve(square, x.T @ y)


def compute_whitening(vectors: ArrayLike, power: float) -> Doubles:
    """Return the matrix `(d, d)`, float64, that evens out the energy of `vectors` `(n, d)` over the directions.

    It is (C / c + e)^-power, of their mean products C, the mean c of its eigenvalues and e, `LEAST_ENERGY`: 0
    leaves vectors as they are, 0.5 gives each direction the same energy. In between is a soft whitening: Su et al.
    (2021), Whitening sentence representations for better semantics and faster retrieval, section 3, but about the
    origin and with a power, as Diera et al. (2024), Isotropy matters: soft-ZCA whitening of embeddings for semantic
    code search, section 3.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    energies, axes = np.linalg.eigh(vectors.T @ vectors)
    lengths = np.maximum(energies / energies.mean(), 0) + LEAST_ENERGY
    return (axes * lengths**-power) @ axes.T
