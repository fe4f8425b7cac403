"""A rotation of a transformer's table, taken out again by a factor behind it. NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....system.types import Floats

FACTOR = "factor/kernel"


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the factor `(w, width)` of a table that is multiplied by an orthogonal `basis`, `(w, w)`.

    Positions are added to the rows, so that a table without a factor gets one.
    """
    return {FACTOR: basis.T @ weights[FACTOR] if FACTOR in weights else basis.T}
