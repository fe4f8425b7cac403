"""A rotation of a static student's table, taken out again by what reads the table. NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....system.types import Floats


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the weights `{path: array}` that change where the table is multiplied by an orthogonal `basis`, `(w, w)`.

    The others stay.
    """
    writers = [name for name in ("residual/second/kernel", "context/second/kernel") if name in weights]
    changed: dict[str, NDArray[np.floating]] = {
        name: basis.T @ weights[name] for name in ("residual/first/kernel", "residual/lift/kernel")
    }
    changed |= {name: weights[name] @ basis for name in writers}
    if "context/first/kernel" in weights:
        first = weights["context/first/kernel"]
        # A token of the window after the other.
        changed["context/first/kernel"] = (basis.T @ first.reshape(-1, len(basis), first.shape[1])).reshape(first.shape)
    return changed
