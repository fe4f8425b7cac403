"""Split a dense layer into a smaller one and a product, because an artefact stores some layers multiplied together."""

from __future__ import annotations

import numpy as np

from ...system.types import Floats


def factorize_dense(kernel: Floats, bias: Floats, dimension: int) -> tuple[Floats, Floats, Floats]:
    """Split a dense layer into one of `dimension` outputs and a product.

    The result is the same function where the layer's rank is at most `dimension`, except for rounding, and else the
    nearest of that rank (Eckart and Young, 1936).

    Args:
        kernel: float32 array `(w, m)`.
        bias: float32 array `(m,)`.
        dimension: The number of outputs d of the first layer.

    Returns:
        The kernel `(w, d)` and bias `(d,)` of the first layer, and the kernel of the product `(d, m)`.
    """
    both = np.concatenate([kernel, bias[None]]).astype(np.float64)
    left, lengths, axes = np.linalg.svd(both, full_matrices=False)
    rank = min(dimension, len(lengths))
    parts, following = np.zeros((len(both), dimension)), np.zeros((dimension, both.shape[1]))
    roots = np.sqrt(lengths[:rank])
    parts[:, :rank], following[:rank] = left[:, :rank] * roots, roots[:, None] * axes[:rank]
    return parts[:-1].astype(np.float32), parts[-1].astype(np.float32), following.astype(np.float32)
