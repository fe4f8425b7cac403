"""A dense layer as one of fewer outputs and a product, in NumPy: an artefact stores some multiplied out."""

from __future__ import annotations

import numpy as np

from ...system.types import Floats


def parted(kernel: Floats, bias: Floats, dimension: int) -> tuple[Floats, Floats, Floats]:
    """Part a dense layer `(w, m)`, `(m,)` into one of `dimension` outputs and a product: `(w, d)`, `(d,)`, `(d, m)`.

    The same function where m is at most d; else the nearest of that rank (Eckart and Young, 1936), which is the same
    but for rounding where the layer was of that rank before.
    """
    both = np.concatenate([kernel, bias[None]]).astype(np.float64)
    left, lengths, axes = np.linalg.svd(both, full_matrices=False)
    rank = min(dimension, len(lengths))
    parts, following = np.zeros((len(both), dimension)), np.zeros((dimension, both.shape[1]))
    roots = np.sqrt(lengths[:rank])
    parts[:, :rank], following[:rank] = left[:, :rank] * roots, roots[:, None] * axes[:rank]
    return parts[:-1].astype(np.float32), parts[-1].astype(np.float32), following.astype(np.float32)
