"""Linear algebra in NumPy: leading axes, least squares, whitening, and a dense layer as a product of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system.types import Doubles, Floats

RIDGE = 1e-4
# Directions with less than this share of the mean energy are not amplified any further.
LEAST_ENERGY = 4e-4


def compute_leading_axes(table: ArrayLike, rank: int, counts: ArrayLike | None = None) -> Doubles:
    """Compute the leading right singular vectors `(w, rank)` of a table, with a weight per row if given."""
    table = np.asarray(table, dtype=np.float64)
    weighted = table if counts is None else table * np.asarray(counts, dtype=np.float64)[:, None]
    _, vectors = np.linalg.eigh(table.T @ weighted)
    return vectors[:, ::-1][:, :rank]


def fit_linear_map(x: NDArray[np.floating], y: NDArray[np.floating], strength: float = RIDGE) -> Doubles:
    """Compute the matrix of least |x K - y|^2 by ridge regression, relative to the mean square of `x`."""
    x, y = x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)
    square = x.T @ x
    square[np.diag_indices_from(square)] += strength * np.trace(square) / len(square)
    return np.linalg.solve(square, x.T @ y)


def compute_whitening(vectors: ArrayLike, power: float) -> Doubles:
    """Compute the matrix that evens out the energy of vectors over the directions.

    The matrix is (C / c + e)^-power, with the vectors' mean products C, the mean c of its eigenvalues, and e,
    `LEAST_ENERGY`. A power between 0 and 0.5 is a soft whitening: Su et al. (2021), Whitening sentence representations
    for better semantics and faster retrieval, section 3, but about the origin and with a power, as in Diera et al.
    (2024), Isotropy matters: soft-ZCA whitening of embeddings for semantic code search, section 3. `vectors` are the
    vectors `(n, d)`. `power` is the power: 0 leaves vectors as they are, 0.5 gives each direction the same energy.
    Returns the matrix, float64 `(d, d)`.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    energies, axes = np.linalg.eigh(vectors.T @ vectors)
    lengths = np.maximum(energies / energies.mean(), 0) + LEAST_ENERGY
    return (axes * lengths**-power) @ axes.T


def factorize_dense(kernel: Floats, bias: Floats, dimension: int) -> tuple[Floats, Floats, Floats]:
    """Split a dense layer into one of `dimension` outputs and a product.

    The result is the same function where the layer's rank is at most `dimension`, except for rounding, and else the
    nearest of that rank (Eckart and Young, 1936). `kernel` is a float32 array `(w, m)`. `bias` is a float32 array
    `(m,)`. Returns the kernel `(w, d)` and bias `(d,)` of the first layer, and the kernel of the product `(d, m)`.
    """
    both = np.concatenate([kernel, bias[None]]).astype(np.float64)
    left, lengths, axes = np.linalg.svd(both, full_matrices=False)
    rank = min(dimension, len(lengths))
    parts, following = np.zeros((len(both), dimension)), np.zeros((dimension, both.shape[1]))
    roots = np.sqrt(lengths[:rank])
    parts[:, :rank], following[:rank] = left[:, :rank] * roots, roots[:, None] * axes[:rank]
    return parts[:-1].astype(np.float32), parts[-1].astype(np.float32), following.astype(np.float32)
