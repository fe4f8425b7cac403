"""The embedding table in few bits: arrays to store in an artefact, and their rows back as float32. NumPy alone.

Each is a `Codec` in `CODECS`: `*_rows(table)` gives the arrays that are stored, `*_values(*arrays)` decodes rows
gathered from them, whatever the leading shape. A scale is one positive int32 a row, fixed point with `FRACTION_BITS`
fractional bits: value = code * scale / 2^24.

`int4` is quantised twice. A row has groups of `GROUP` numbers, each with its own step, so that one large number
costs only its neighbours precision; the steps themselves are a uint8 each, times the scale of the row. A byte
holds the codes of columns i (low half) and i + half the stored width (high half): the two halves of a row are
unpacked each by itself and laid end to end.

`int4-pq5` is of two parts: the first rows in `int4`, all others as codewords of 5 numbers. SentencePiece lists pieces
by descending score, the frequent ones first, so that the first rows are those that most tokens of a text look up.
`int4-pq3` has codewords of 3 numbers, in half as many bytes more.
Its codewords share one step, where `pq4` and `pq8` have a scale each: half the gathers of a lookup. They are of rows
of unit length, and the last one of a row has the length too; an export turns the table first, see `rotation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...system.types import Floats, Integers
from .kernels import LEVELS
from .products import CODEWORDS, product_codes, row_lengths
from .rotation import rotation

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
# One row in so many is frequent. On 102,826 pieces of mUSE nothing measurable is lost at half the bytes of int4, where
# codewords for all rows cost 2 to 6 points of retrieval.
SHARE = 8
# Rounds of k-means on the whole table: with none of them 4% more error.
WHOLE = 4
Bytes: TypeAlias = NDArray[np.uint8]
Scales: TypeAlias = NDArray[np.int32]
Array = TypeVar("Array")
# Other arrays of a table, of those that are stored.
Remade: TypeAlias = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


def float32_rows(table: Floats) -> tuple[Floats]:
    """float32 `(rows, width)` -> itself, as the only array."""
    return (np.ascontiguousarray(table, dtype=np.float32),)


def float32_values(rows: Floats) -> Floats:
    """float32 rows `(..., width)` -> themselves."""
    return rows


def uint8_rows(table: Floats) -> tuple[Bytes, Scales]:
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


def uint8_values(codes: Bytes, scales: Scales) -> Floats:
    """uint8 codes `(..., width)` and their scales `(..., 1)` -> float32 `(..., width)`."""
    return (codes.astype(np.float32) - ZERO) * _real(scales)


def int8_rows(table: Floats) -> tuple[NDArray[np.int8], Scales]:
    """float32 `(rows, width)` -> int8 codes in -127..127 of that shape and int32 scales `(rows, 1)`.

    The numbers are those of `uint8_rows`, in the type that some runtimes multiply without a shift.
    """
    codes, scales = uint8_rows(table)
    return (codes.astype(np.int16) - ZERO).astype(np.int8), scales


def int8_values(codes: NDArray[np.int8], scales: Scales) -> Floats:
    """int8 codes `(..., width)` and their scales `(..., 1)` -> float32 `(..., width)`."""
    return codes.astype(np.float32) * _real(scales)


def int4_rows(table: Floats) -> tuple[Bytes, Bytes, Scales]:
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


def int4_values(packed: Bytes, steps: Bytes, scales: Scales) -> Floats:
    """Packed codes `(..., stored / 2)`, steps `(..., groups)` and scales `(..., 1)` -> float32 `(..., stored)`.

    What stands behind the table's width is zero and is cut off by the caller, or by `decoded`.
    """
    codes = unpack(packed).astype(np.float32) - INT4_ZERO
    groups = codes.reshape(*codes.shape[:-1], -1, GROUP)
    return (groups * (steps * _real(scales))[..., None]).reshape(codes.shape)


def product_rows(table: Floats, size: int) -> tuple[Bytes, Bytes, Scales]:
    """float32 `(rows, width)` -> codes of `size` numbers each, and their codewords.

    uint8 `(rows, places)`, and the codebooks of the places one after another as `uint8_rows` stores a table: uint8
    `(places * 256, size)` and int32 `(places * 256, 1)`. See `products`.
    """
    codes, books = product_codes(table, size)
    return codes, *uint8_rows(books.reshape(-1, size))


def product_values(codes: Bytes, words: Bytes, scales: Scales) -> Floats:
    """Codes `(..., places)` with the codewords and their scales -> float32 `(..., places * size)`."""
    where = _places(codes)
    return uint8_values(words[where], scales[where]).reshape(*codes.shape[:-1], -1)


def column_rows(table: Floats, size: int) -> tuple[Bytes, NDArray[np.int8], Floats]:
    """float32 `(rows, width)` -> codes of `size` numbers each, their codewords, and the step of a number.

    uint8 `(rows, places)`, int8 `(places * 256, size)` and float32 `(1,)`. `places` is width / size + 1, rounded down:
    the last one has the columns that are left, zeros, and in its last column the length of the row, which all else is
    multiplied by, and the step. Rows of one direction so have the same codewords. A number's error is at most half a
    step times the length, 1/254 of the largest number of rows of unit length.
    """
    body = table.shape[1] // size * size
    last, left, lengths, step = _ends(table[:, body:], row_lengths(table))
    codes, books = product_codes(table[:, :body] / (lengths * step)[last], size, WHOLE)
    ends = np.pad(left, [(0, 0), (0, size - 1 - left.shape[1])])
    numbers, scales = int8_rows(np.concatenate([books.reshape(-1), ends.reshape(-1)])[None])
    first, ends = np.split(numbers[0], [books.size])
    words = np.concatenate([first.reshape(-1, size), np.column_stack([ends.reshape(CODEWORDS, -1), lengths])])
    return np.column_stack([codes, last.astype(np.uint8)]), words, _real(scales[0]) * step


def _ends(left, lengths):
    """The places `(rows,)`, codewords `(256, n)` and lengths int8 `(256, 1)` of the columns that are left; their step.

    In the logarithm a length's error weighs what another column's does, relative to the row.
    """
    codes, books = product_codes(np.concatenate([left / lengths, np.log(lengths)], axis=1), left.shape[1] + 1, WHOLE)
    whole, scale = int8_rows(np.exp(books[0, :, -1])[None])
    return codes[:, 0], books[0, :, :-1], whole.T, _real(scale)[0, 0]


def column_values(codes: Bytes, words: NDArray[np.int8], step: Floats) -> Floats:
    """Codes `(..., places)` with the codewords and their step -> float32 `(..., places * size - 1)`."""
    rows = words[_places(codes)].astype(np.float32).reshape(*codes.shape[:-1], -1)
    return rows[..., :-1] * (rows[..., -1:] * step)


def mixed_rows(table: Floats, size: int) -> tuple[np.ndarray, ...]:
    """float32 `(rows, width)` -> `int4_rows` of the first, `column_rows` of the rest, and how many are the first.

    They are the frequent pieces', one in `SHARE` and one at least; their number is int32 `(1,)`. A table of one row has
    a row of zeros for the rest.
    """
    count = frequent(len(table))
    rest = table[count:] if len(table) > count else np.zeros_like(table[:1])
    return *int4_rows(table[:count]), *column_rows(rest, size), np.array([count], dtype=np.int32)


def mixed_values(
    packed: Bytes,
    steps: Bytes,
    scales: Scales,
    codes: Bytes,
    words: NDArray[np.int8],
    step: Floats,
    count: Scales,
) -> Floats:
    """The arrays of `mixed_rows` -> float32 `(rows, stored)`, all of them, the narrower of the parts' widths.

    One more row than the table where that has none for a part.
    """
    parts = int4_values(packed, steps, scales)[: count[0]], column_values(codes, words, step)
    return np.concatenate([part[:, : min(parts[0].shape[1], parts[1].shape[1])] for part in parts])


def frequent(rows: int) -> int:
    """How many of a table's rows `mixed_rows` takes for those of frequent pieces."""
    return max(1, rows // SHARE)


def group_steps(groups: Floats) -> tuple[Bytes, Scales]:
    """float32 `(rows, groups, GROUP)` -> uint8 steps `(rows, groups)` and int32 scales `(rows, 1)`.

    Both are rounded up, so that step * scale spans the largest number of a group.
    """
    wanted = np.maximum(groups.max(axis=-1) / INT4_HIGHEST, groups.min(axis=-1) / INT4_LOWEST)
    wanted = wanted.astype(np.float64) * 2**FRACTION_BITS
    scales = np.maximum(np.ceil(wanted.max(axis=1, keepdims=True) / STEPS), 1)
    return np.clip(np.ceil(wanted / scales), 1, STEPS).astype(np.uint8), scales.astype(np.int32)


def pack(codes: Bytes) -> Bytes:
    """uint8 codes 0..15 `(..., stored)` -> two a byte, `(..., stored / 2)`."""
    low, high = np.split(codes, 2, axis=-1)
    return low | high * np.uint8(16)


def unpack(packed: Bytes) -> Bytes:
    """The inverse of `pack`."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


@dataclass(frozen=True)
class Codec:
    """A way to store a table.

    `rows(table)` encodes it and `values(*arrays)` decodes rows of it; of the arrays the last `shared` are codebooks,
    which all rows share. `bits` a number, at least; `least_cosine` of a question to the student, where the settings
    leave it open. One that is not `trainable` is made before training and stays; one that is `searched` is tried by
    `distill compress`.
    """

    name: str
    rows: Callable[[Floats], tuple[np.ndarray, ...]]
    values: Callable[..., Floats]
    bits: int
    shared: int = 0
    least_cosine: float = 0.995
    trainable: bool = True
    searched: bool = False

    @property
    def rounds(self) -> bool:
        """True where training rounds the table to it."""
        return self.trainable and self.bits < 32

    def split(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """The arrays that are gathered from by row, and the codebooks."""
        rows = len(arrays) - self.shared
        return arrays[:rows], arrays[rows:]

    @property
    def arrays(self) -> int:
        """How many arrays a table is stored in."""
        return len(self.rows(np.zeros((1, 1), dtype=np.float32)))

    def taken(self, arrays: Sequence[np.ndarray], kept: Integers) -> tuple[np.ndarray, ...]:
        """The arrays of the `kept` rows alone, ascending ids: codes and scales are copied, never rounded anew."""
        rows, shared = self.split(arrays)
        return *(array[kept] for array in rows), *shared

    def basis(self, table: Floats) -> Floats | None:
        """The matrix `(width, width)` to multiply a table by before it is stored, see `rotation`; None for none."""
        return None

    def frequent(self, rows: int) -> int:
        """The number of the first of so many rows that are stored as those of frequent pieces: all, without parts."""
        return rows

    def size(self, rows: int, width: int) -> int:
        """Bytes of the arrays of a table `(rows, width)`."""
        gathered, shared = self.split(self.rows(np.zeros((1, width), dtype=np.float32)))
        return rows * _bytes(gathered) + _bytes(shared)


@dataclass(frozen=True)
class MixedCodec(Codec):
    """A `Codec` of `mixed_rows`, with `numbers` a codeword.

    A row's place in its part follows from its id: none of the arrays is gathered by id, and `values` decodes a whole
    table. A part that no row is left in keeps one, which nothing looks up.
    """

    numbers: int = 5

    def taken(self, arrays: Sequence[np.ndarray], kept: Integers) -> tuple[np.ndarray, ...]:
        """The arrays of the `kept` rows alone, ascending ids: codes and scales are copied, never rounded anew."""
        *first, codes, words, step, count = arrays
        often, rest = kept[kept < count], kept[kept >= count] - count
        left = np.array([len(often)], dtype=count.dtype)
        return *(_some(array, often) for array in first), _some(codes, rest), words, step, left

    def basis(self, table: Floats) -> Floats | None:
        """The rotation for the rows that become codewords."""
        return rotation(_some(table, np.arange(self.frequent(len(table)), len(table))), self.numbers)

    def frequent(self, rows: int) -> int:
        """The number of the first of so many rows that are in int4."""
        return frequent(rows)

    def size(self, rows: int, width: int) -> int:
        """Bytes of the arrays of a table `(rows, width)`."""
        # Each part has one row.
        *first, codes, words, step, count = self.rows(np.zeros((1, width), dtype=np.float32))
        often = self.frequent(rows)
        rest = max(1, rows - often)
        return often * _bytes(first) + rest * codes.nbytes + _bytes([words, step, count])


def _some(array, rows):
    return array[rows] if len(rows) else array[:1]


def _bytes(arrays):
    return sum(array.nbytes for array in arrays)


def _mixed(name, numbers, bits):
    rows = partial(mixed_rows, size=numbers)
    return MixedCodec(name, rows, mixed_values, bits, 7, least_cosine=0.9, trainable=False, numbers=numbers)


_CODECS = (
    Codec("uint8", uint8_rows, uint8_values, 8, searched=True),
    # For runtimes that multiply it without a shift; a search need not try the same numbers twice.
    Codec("int8-row", int8_rows, int8_values, 8),
    Codec("int4", int4_rows, int4_values, 4, least_cosine=0.9, searched=True),
    Codec("pq4", partial(product_rows, size=4), product_values, 2, 2, least_cosine=0.8, trainable=False, searched=True),
    Codec("pq8", partial(product_rows, size=8), product_values, 1, 2, least_cosine=0.5, trainable=False, searched=True),
    _mixed("int4-pq5", 5, 1),
    _mixed("int4-pq3", 3, 2),
    Codec("float32", float32_rows, float32_values, 32),
)
CODECS = {codec.name: codec for codec in _CODECS}
# The names of those of two parts, which differ in how many numbers a codeword has.
MIXED = tuple(codec.name for codec in _CODECS if isinstance(codec, MixedCodec))


def encoded(name: str, table: Floats) -> tuple[np.ndarray, ...]:
    """The arrays of a float32 table `(rows, width)` in the format `name` of `CODECS`, codebooks last."""
    return CODECS[name].rows(table)


def stored_bytes(name: str, rows: int, width: int) -> int:
    """Bytes of `encoded` arrays of a table `(rows, width)`."""
    return CODECS[name].size(rows, width)


def decoded(name: str, arrays: Sequence[np.ndarray], width: int) -> Floats:
    """Rows of `encoded` arrays, whatever their leading shape, with the books -> float32 `(..., width)`."""
    return CODECS[name].values(*arrays)[..., :width]


def kept(name: str, table: Floats) -> Floats:
    """A float32 table `(rows, width)` as the format `name` keeps it: encoded and decoded."""
    return decoded(name, encoded(name, table), table.shape[1])[: len(table)]


def _places(codes):
    """Codes `(..., places)` as rows of the codebooks laid one after another."""
    return codes.astype(np.int32) + CODEWORDS * np.arange(codes.shape[-1], dtype=np.int32)


def _real(scales):
    return scales.astype(np.float32) * np.float32(2.0**-FRACTION_BITS)


def _groups(rows, stored):
    padded = np.pad(rows, [(0, 0), (0, stored - rows.shape[1])])
    return padded.reshape(len(rows), -1, GROUP)


def _codes(groups, steps, scales):
    step = (steps * _real(scales))[..., None]
    codes = np.clip(np.round(groups / step), INT4_LOWEST, INT4_HIGHEST) + INT4_ZERO
    return codes.astype(np.uint8).reshape(len(groups), -1)
