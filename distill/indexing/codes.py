"""Vectors in int8 with a scale a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats

LARGEST = 127


def quantised(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return int8 codes `(n, d)` and float32 scales `(n,)` of float32 rows: a number is its code times its row's scale.

    A scale is the row's greatest magnitude / 127, rounded to the nearest code, half to even; a row of zeros has 0.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(LARGEST)
    codes = np.rint(vectors / np.where(scales > 0, scales, np.float32(1))[:, None])
    return codes.astype(np.int8), scales
