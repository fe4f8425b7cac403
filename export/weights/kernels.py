"""A dense kernel as int8, one scale an output channel. NumPy alone."""

from __future__ import annotations

import numpy as np

from ...system.types import Floats

LEVELS = 127


def quantize_channels(kernel: Floats) -> tuple[Floats, Floats]:
    """float32 `(in, out)` -> whole numbers in [-127, 127] as float32, and one scale an output channel, `(out,)`."""
    scale = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / LEVELS
    return np.round(kernel / scale).astype(np.float32), scale.astype(np.float32)
