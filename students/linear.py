"""Leading axes and least squares of vectors, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system.types import Doubles

RIDGE = 1e-4


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
