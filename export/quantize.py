"""Weights as int8: which numbers go into the artefact, decided here and not by the converter. NumPy alone."""

import numpy as np

LEVELS = 127
# A float constant of 1,024 elements or more would be quantised by the converter, so the table's scales are
# stored as int32 fixed point with this many fractional bits.
FRACTION_BITS = 24
ZERO = 128
# Rows at once, so that no second float table is made.
BLOCK = 8192


def quantize_rows(table):
    """float32 `(rows, width)` -> uint8 codes of that shape and int32 fixed-point scales `(rows, 1)`.

    value = (code - 128) * scale / 2^24: symmetric, one scale a row, error at most half a step.
    """
    codes = np.empty(table.shape, dtype=np.uint8)
    fixed = np.empty((len(table), 1), dtype=np.int32)
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        scale = np.maximum(np.abs(table[rows]).max(axis=1, keepdims=True) / LEVELS, 2.0**-FRACTION_BITS)
        fixed[rows] = np.ceil(scale * 2**FRACTION_BITS)
        codes[rows] = np.clip(np.round(table[rows] / (fixed[rows] * 2.0**-FRACTION_BITS)) + ZERO, 0, 255)
    return codes, fixed


def quantize_channels(kernel):
    """float32 `(in, out)` -> whole numbers in [-127, 127] as float32, and one scale an output channel, `(out,)`."""
    scale = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / LEVELS
    return np.round(kernel / scale).astype(np.float32), scale.astype(np.float32)
