"""Adapt an n-gram student to a rotated embedding table by rotating what reads it back. NumPy only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....system.types import Floats


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the weights that change if the embedding table is multiplied by an orthogonal matrix `(w, w)`.

    The gains of the normalisation, which differ by column of the table, are merged into pooling's dense layer, except
    for their size. The mean and the variance of the features stay the same, as `basis` keeps the mean.
    """
    if "factor/kernel" in weights:
        return {"factor/kernel": basis.T @ weights["factor/kernel"]}
    width, gains, biases = len(basis), weights["norm/gamma"].copy(), weights["norm/beta"].copy()
    size = np.sqrt(np.mean(np.square(gains[:width]))) or 1
    kernel = weights["pooling/dense/kernel"].astype(np.float64)
    changed: dict[str, NDArray[np.floating]] = {
        "pooling/bias": weights["pooling/bias"] + biases[:width] @ kernel[:width]
    }
    kernel[:width] = basis.T @ (kernel[:width] * (gains[:width, None] / size))
    gains[:width], biases[:width] = size, 0
    readers = [name for name in weights if name.endswith("projection/kernel") and name.startswith("order_")]
    changed |= {name: basis.T @ weights[name] for name in readers}
    return {**changed, "norm/gamma": gains, "norm/beta": biases, "pooling/dense/kernel": kernel}
