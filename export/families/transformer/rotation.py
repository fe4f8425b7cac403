"""Adapt a transformer to a rotated embedding table by a factor behind it. NumPy only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....system.types import Floats

FACTOR = "factor/kernel"


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the factor `(w, width)` behind an embedding table that is multiplied by an orthogonal matrix, by its path.

    Position embeddings are added to the rows, so a table without a factor gets one.
    """
    return {FACTOR: basis.T @ weights[FACTOR] if FACTOR in weights else basis.T}
