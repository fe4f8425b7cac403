"""The embedding table in few bits: arrays to store in an artefact, and their rows back as float32. NumPy alone.

Each format is a pair of functions: `*_rows(table)` gives the arrays that are stored, `*_values(*arrays)` decodes
rows gathered from them, whatever the leading shape; the last `SHARED` arrays are not gathered, as all rows share them.
A scale is one positive int32 a row, fixed point with
`FRACTION_BITS` fractional bits: value = code * scale / 2^24.

`int4` is quantised twice. A row has groups of `GROUP` numbers, each with its own step, so that one large number
costs only its neighbours precision; the steps themselves are a uint8 each, times the scale of the row. A byte
holds the codes of columns i (low half) and i + half the stored width (high half): the two halves of a row are
unpacked each by itself and laid end to end.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from .kernels import LEVELS
from .products import CODEWORDS, product_codes

# A float constant of 1,024 elements or more would be quantised by the TFLite converter, so scales are stored as
# int32 fixed point with this many fractional bits.
FRACTION_BITS = 24
ZERO = 128
# Rows at once, so that no second float table is made.
BLOCK = 8192
GROUP = 32
# An int4 code of 0..15 stands for -8..7. Against -7..7 it lowers the mean squared error of a trained table from .90%
# of the mean square to .79%. Cutting off a group's largest number lowers that to .63%, and no vector gets better.
INT4_ZERO, INT4_LOWEST, INT4_HIGHEST = 8, -8, 7
STEPS = 255


def float32_rows(table):
    """float32 `(rows, width)` -> itself, as the only array."""
    return (np.ascontiguousarray(table, dtype=np.float32),)


def float32_values(rows):
    """float32 rows `(..., width)` -> themselves."""
    return rows


def uint8_rows(table):
    """float32 `(rows, width)` -> uint8 codes of that shape, 128 for zero, and int32 scales `(rows, 1)`.

    Symmetric, one scale a row, error at most half a step.
    """
    codes = np.empty(table.shape, dtype=np.uint8)
    fixed = np.empty((len(table), 1), dtype=np.int32)
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        scale = np.maximum(np.abs(table[rows]).max(axis=1, keepdims=True) / LEVELS, 2.0**-FRACTION_BITS)
        fixed[rows] = np.ceil(scale * 2**FRACTION_BITS)
        codes[rows] = np.clip(np.round(table[rows] / (fixed[rows] * 2.0**-FRACTION_BITS)) + ZERO, 0, 255)
    return codes, fixed


def uint8_values(codes, scales):
    """uint8 codes `(..., width)` and their scales `(..., 1)` -> float32 `(..., width)`."""
    return (codes.astype(np.float32) - ZERO) * _real(scales)


def int8_rows(table):
    """float32 `(rows, width)` -> int8 codes in -127..127 of that shape and int32 scales `(rows, 1)`.

    The numbers are those of `uint8_rows`, in the type that some runtimes multiply without a shift.
    """
    codes, scales = uint8_rows(table)
    return (codes.astype(np.int16) - ZERO).astype(np.int8), scales


def int8_values(codes, scales):
    """int8 codes `(..., width)` and their scales `(..., 1)` -> float32 `(..., width)`."""
    return codes.astype(np.float32) * _real(scales)


def int4_rows(table):
    """float32 `(rows, width)` -> packed codes, steps of the groups and scales of the rows.

    uint8 `(rows, stored / 2)`, uint8 `(rows, stored / GROUP)` and int32 `(rows, 1)`, where `stored` is the width
    rounded up to whole groups. value = (code - 8) * step * scale / 2^24.
    """
    stored = -(-table.shape[1] // GROUP) * GROUP
    packed = np.empty((len(table), stored // 2), dtype=np.uint8)
    steps = np.empty((len(table), stored // GROUP), dtype=np.uint8)
    scales = np.empty((len(table), 1), dtype=np.int32)
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        groups = _groups(table[rows], stored)
        steps[rows], scales[rows] = group_steps(groups)
        packed[rows] = pack(_codes(groups, steps[rows], scales[rows]))
    return packed, steps, scales


def int4_values(packed, steps, scales):
    """Packed codes `(..., stored / 2)`, steps `(..., groups)` and scales `(..., 1)` -> float32 `(..., stored)`.

    What stands behind the table's width is zero and is cut off by the caller, or by `decoded`.
    """
    codes = unpack(packed).astype(np.float32) - INT4_ZERO
    groups = codes.reshape(*codes.shape[:-1], -1, GROUP)
    return (groups * (steps * _real(scales))[..., None]).reshape(codes.shape)


def product_rows(table, size):
    """float32 `(rows, width)` -> codes of `size` numbers each, and their codewords.

    uint8 `(rows, places)`, and the codebooks of the places one after another as `uint8_rows` stores a table: uint8
    `(places * 256, size)` and int32 `(places * 256, 1)`. See `products`.
    """
    codes, books = product_codes(table, size)
    return codes, *uint8_rows(books.reshape(-1, size))


def product_values(codes, words, scales):
    """Codes `(..., places)` with the codewords and their scales -> float32 `(..., places * size)`."""
    where = codes.astype(np.int32) + CODEWORDS * np.arange(codes.shape[-1], dtype=np.int32)
    return uint8_values(words[where], scales[where]).reshape(*codes.shape[:-1], -1)


def group_steps(groups):
    """float32 `(rows, groups, GROUP)` -> uint8 steps `(rows, groups)` and int32 scales `(rows, 1)`.

    Both are rounded up, so that step * scale spans the largest number of a group.
    """
    wanted = np.maximum(groups.max(axis=-1) / INT4_HIGHEST, groups.min(axis=-1) / INT4_LOWEST)
    wanted = wanted.astype(np.float64) * 2**FRACTION_BITS
    scales = np.maximum(np.ceil(wanted.max(axis=1, keepdims=True) / STEPS), 1)
    return np.clip(np.ceil(wanted / scales), 1, STEPS).astype(np.uint8), scales.astype(np.int32)


def pack(codes):
    """uint8 codes 0..15 `(..., stored)` -> two a byte, `(..., stored / 2)`."""
    low, high = np.split(codes, 2, axis=-1)
    return low | (high << 4)


def unpack(packed):
    """The inverse of `pack`."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


# How a table is stored: its name -> the function that encodes it and the one that decodes rows of it.
CODECS: dict[str, tuple[Callable, Callable]] = {
    "float32": (float32_rows, float32_values),
    "uint8": (uint8_rows, uint8_values),
    "int8-row": (int8_rows, int8_values),
    "int4": (int4_rows, int4_values),
    "pq4": (partial(product_rows, size=4), product_values),
    "pq8": (partial(product_rows, size=8), product_values),
}
# How many of the arrays, the last ones, are codebooks and no rows.
SHARED = {"pq4": 2, "pq8": 2}
BITS = {"float32": 32, "uint8": 8, "int8-row": 8, "int4": 4, "pq4": 2, "pq8": 1}


def encoded(name, table):
    """The arrays of a float32 table `(rows, width)` in the format `name` of `CODECS`, codebooks last."""
    return CODECS[name][0](table)


def stored_bytes(name, rows, width):
    """Bytes of `encoded` arrays of a table `(rows, width)`."""
    arrays = encoded(name, np.zeros((1, width), dtype=np.float32))
    own = len(arrays) - SHARED.get(name, 0)
    return rows * sum(array.nbytes for array in arrays[:own]) + sum(array.nbytes for array in arrays[own:])


def decoded(name, arrays, width):
    """Rows of `encoded` arrays, whatever their leading shape, with the books -> float32 `(..., width)`."""
    return CODECS[name][1](*arrays)[..., :width]


def kept(name, table):
    """What the format `name` keeps of a float32 table: it encoded and decoded, `(rows, width)`."""
    return decoded(name, encoded(name, table), table.shape[1])


def _real(scales):
    return scales.astype(np.float32) * np.float32(2.0**-FRACTION_BITS)


def _groups(rows, stored):
    padded = np.pad(rows, [(0, 0), (0, stored - rows.shape[1])])
    return padded.reshape(len(rows), -1, GROUP)


def _codes(groups, steps, scales):
    step = (steps * _real(scales))[..., None]
    codes = np.clip(np.round(groups / step), INT4_LOWEST, INT4_HIGHEST) + INT4_ZERO
    return codes.astype(np.uint8).reshape(len(groups), -1)
