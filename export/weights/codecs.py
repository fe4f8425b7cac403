"""Store the embedding table in few bits: encode it to arrays, and decode rows of them to float32. NumPy only.

A table is float32 `(rows, width)`, scales are int32 `(..., 1)`, and a format is a key of `CODECS`.

Each format is a `Codec` in `CODECS`: `*_rows(table)` returns the arrays to store, `*_values(*arrays)` decodes rows
gathered from them, whatever their leading shape. A scale is one positive int32 per row, in fixed point with
`FRACTION_BITS` fractional bits: value = code * scale / 2^24.

`int4` is quantised twice. A row has groups of `GROUP` numbers with a step each, so that a large number reduces the
precision of its neighbours only; the steps themselves are stored as uint8, to be multiplied by the scale of the row. A
byte holds the codes of columns i (low half) and i + half the stored width (high half), so that the two halves of a row
are unpacked separately and concatenated.

`int4-pq5` has two parts: the first rows in `int4`, all others as codewords of 5 numbers. SentencePiece lists its pieces
by descending score, frequent ones first, so most tokens of a text look up the first rows. `int4-pq3` has codewords of 3
numbers and needs half as many bytes more. The codewords of these formats share one step, while `pq4` and `pq8` have a
scale per codeword, which doubles the gathers of a lookup. The codewords stand for rows of unit length, and the last
codeword of a row also holds its length; an export rotates the table first, see `compute_rotation`.
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
from .products import CODEWORDS, compute_rotation, product_codes, row_lengths

# A float constant of 1,024 elements or more would be quantised by the TFLite converter, so scales are stored as
# int32 fixed point with this many fractional bits.
FRACTION_BITS = 24
ZERO = 128
# Rows are encoded in blocks of this size, so that no second float table is made.
BLOCK = 8192
GROUP = 32
# An int4 code of 0..15 stands for -8..7. Against -7..7, this lowers a trained table's mean squared error from .90%
# of the mean square to .79%. Clipping a group's largest number lowers it to .63%, but no vector gets better.
INT4_ZERO, INT4_LOWEST, INT4_HIGHEST = 8, -8, 7
STEPS = 255
# One row in so many is frequent. On mUSE's 102,826 tokens nothing measurable is lost at half the bytes of int4, while
# codewords for all rows cost 2 to 6 points of P@1.
SHARE = 8
# Rounds of k-means on the whole table; without them the error is 4% larger.
WHOLE = 4
Bytes: TypeAlias = NDArray[np.uint8]
Scales: TypeAlias = NDArray[np.int32]
Array = TypeVar("Array")
# A function from the stored arrays of a table to other arrays.
TableEdit: TypeAlias = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


def float32_rows(table: Floats) -> tuple[Floats]:
    """Return a float32 table `(rows, width)` as the only array."""
    return (np.ascontiguousarray(table, dtype=np.float32),)


def float32_values(rows: Floats) -> Floats:
    """Return float32 rows `(..., width)` unchanged."""
    return rows


def uint8_rows(table: Floats) -> tuple[Bytes, Scales]:
    """Quantise a table symmetrically to uint8 codes, 128 for zero, with one scale per row; the error is half a step."""
    codes = np.empty(table.shape, dtype=np.uint8)
    fixed = np.empty((len(table), 1), dtype=np.int32)
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        scale = np.maximum(np.abs(table[rows]).max(axis=1, keepdims=True) / LEVELS, 2.0**-FRACTION_BITS)
        fixed[rows] = np.ceil(scale * 2**FRACTION_BITS)
        codes[rows] = np.clip(np.round(table[rows] / (fixed[rows] * 2.0**-FRACTION_BITS)) + ZERO, 0, 255)
    return codes, fixed


def uint8_values(codes: Bytes, scales: Scales) -> Floats:
    """Decode rows of `uint8_rows` to float32 `(..., width)`."""
    return (codes.astype(np.float32) - ZERO) * _as_float(scales)


def int8_rows(table: Floats) -> tuple[NDArray[np.int8], Scales]:
    """Quantise a table to the numbers of `uint8_rows`, as int8, which some runtimes multiply without an offset."""
    codes, scales = uint8_rows(table)
    return (codes.astype(np.int16) - ZERO).astype(np.int8), scales


def int8_values(codes: NDArray[np.int8], scales: Scales) -> Floats:
    """Decode rows of `int8_rows` to float32 `(..., width)`."""
    return codes.astype(np.float32) * _as_float(scales)


def int4_rows(table: Floats) -> tuple[Bytes, Bytes, Scales]:
    """Quantise a table to 4 bits per number, with a step per group and a scale per row.

    `stored` is the width rounded up to whole groups; value = (code - 8) * step * scale / 2^24. Returns packed codes
    uint8 `(rows, stored / 2)`, steps uint8 `(rows, stored / GROUP)` and scales int32 `(rows, 1)`.
    """
    stored = -(-table.shape[1] // GROUP) * GROUP
    packed = np.empty((len(table), stored // 2), dtype=np.uint8)
    steps = np.empty((len(table), stored // GROUP), dtype=np.uint8)
    scales = np.empty((len(table), 1), dtype=np.int32)
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        groups = _groups(table[rows], stored)
        steps[rows], scales[rows] = group_steps(groups)
        packed[rows] = pack_halves(_codes(groups, steps[rows], scales[rows]))
    return packed, steps, scales


def int4_values(packed: Bytes, steps: Bytes, scales: Scales) -> Floats:
    """Decode rows of `int4_rows` to float32 `(..., stored)`; columns beyond the table's width are zero."""
    codes = unpack_halves(packed).astype(np.float32) - INT4_ZERO
    groups = codes.reshape(*codes.shape[:-1], -1, GROUP)
    return (groups * (steps * _as_float(scales))[..., None]).reshape(codes.shape)


def product_rows(table: Floats, size: int) -> tuple[Bytes, Bytes, Scales]:
    """Quantise a table to codewords: see `products`.

    Returns codes uint8 `(rows, places)`, and the codebooks of all places as `uint8_rows` stores a table of `places *
    256` rows.
    """
    codes, books = product_codes(table, size)
    return codes, *uint8_rows(books.reshape(-1, size))


def product_values(codes: Bytes, words: Bytes, scales: Scales) -> Floats:
    """Decode rows of `product_rows` to float32 `(..., places * size)`."""
    where = find_places(codes)
    return uint8_values(words[where], scales[where]).reshape(*codes.shape[:-1], -1)


def column_rows(table: Floats, size: int) -> tuple[Bytes, NDArray[np.int8], Floats]:
    """Quantise a table to codewords of unit rows, with the length of a row in its last codeword.

    `places` is width / size + 1, rounded down. The last place has the remaining columns, zeros, and in its last column
    the length of the row, by which all other numbers and the step are multiplied. Rows of the same direction therefore
    have the same codewords. The error of a number is at most half a step times the length, 1/254 of the largest number
    of rows of unit length. Returns codes uint8 `(rows, places)`, codewords int8 `(places * 256, size)` and the step of
    a number, float32 `(1,)`.
    """
    body = table.shape[1] // size * size
    last, left, lengths, step = _ends(table[:, body:], row_lengths(table))
    codes, books = product_codes(table[:, :body] / (lengths * step)[last], size, WHOLE)
    ends = np.pad(left, [(0, 0), (0, size - 1 - left.shape[1])])
    numbers, scales = int8_rows(np.concatenate([books.reshape(-1), ends.reshape(-1)])[None])
    first, ends = np.split(numbers[0], [books.size])
    words = np.concatenate([first.reshape(-1, size), np.column_stack([ends.reshape(CODEWORDS, -1), lengths])])
    return np.column_stack([codes, last.astype(np.uint8)]), words, _as_float(scales[0]) * step


def _ends(left, lengths):
    """Return the last places `(rows,)`, their codewords `(256, n)`, their lengths int8 `(256, 1)` and a length's step.

    The logarithm of a length is clustered, so that its error counts as much as that of another column, relative to the
    row.
    """
    codes, books = product_codes(np.concatenate([left / lengths, np.log(lengths)], axis=1), left.shape[1] + 1, WHOLE)
    whole, scale = int8_rows(np.exp(books[0, :, -1])[None])
    return codes[:, 0], books[0, :, :-1], whole.T, _as_float(scale)[0, 0]


def column_values(codes: Bytes, words: NDArray[np.int8], step: Floats) -> Floats:
    """Decode rows of `column_rows` to float32 `(..., places * size - 1)`."""
    rows = words[find_places(codes)].astype(np.float32).reshape(*codes.shape[:-1], -1)
    return rows[..., :-1] * (rows[..., -1:] * step)


def mixed_rows(table: Floats, size: int) -> tuple[np.ndarray, ...]:
    """Store the rows of frequent tokens as `int4_rows` and all others as `column_rows`, and their number, int32 `(1,)`.

    One row in `SHARE` is frequent, and at least one. A table of one row has a row of zeros for the rest.
    """
    count = count_frequent(len(table))
    rest = table[count:] if len(table) > count else np.zeros_like(table[:1])
    return *int4_rows(table[:count]), *column_rows(rest, size), np.array([count], dtype=np.int32)


def mixed_values(
    packed: Bytes, steps: Bytes, scales: Scales, codes: Bytes, words: NDArray[np.int8], step: Floats, count: Scales
) -> Floats:
    """Decode the arrays of `mixed_rows` to float32 `(rows, stored)`, with the smaller width of the two parts.

    The result has one row more than the table if the table has no rows for one of the parts.
    """
    parts = int4_values(packed, steps, scales)[: count[0]], column_values(codes, words, step)
    return np.concatenate([part[:, : min(parts[0].shape[1], parts[1].shape[1])] for part in parts])


def count_frequent(rows: int) -> int:
    """Return how many of a table's rows `mixed_rows` stores as those of frequent tokens."""
    return max(1, rows // SHARE)


def group_steps(groups: Floats) -> tuple[Bytes, Scales]:
    """Compute steps of groups and scales of rows, rounded up so that step * scale spans a group's largest number.

    `groups` is `(rows, groups, GROUP)`, the steps are uint8 `(rows, groups)`, and the scales int32 `(rows, 1)`.
    """
    wanted = np.maximum(groups.max(axis=-1) / INT4_HIGHEST, groups.min(axis=-1) / INT4_LOWEST)
    wanted = wanted.astype(np.float64) * 2**FRACTION_BITS
    scales = np.maximum(np.ceil(wanted.max(axis=1, keepdims=True) / STEPS), 1)
    return np.clip(np.ceil(wanted / scales), 1, STEPS).astype(np.uint8), scales.astype(np.int32)


def pack_halves(codes: Bytes) -> Bytes:
    """Pack codes from 0 to 15, uint8 `(..., stored)`, two per byte to `(..., stored / 2)`."""
    low, high = np.split(codes, 2, axis=-1)
    return low | high * np.uint8(16)


def unpack_halves(packed: Bytes) -> Bytes:
    """Invert `pack_halves`."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


@dataclass(frozen=True)
class Codec:
    """A format to store an embedding table in.

    Args:
        rows: A function that encodes a table `(rows, width)` to arrays.
        shared: The number of arrays, the last ones, that are codebooks, which all rows share.
        least_cosine: The default for the least cosine of a question's vector to the student's.
        trainable: False if the codes are fixed before training.
        searched: True if `distill compress` tries the format.
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
        """True if training rounds the table to the format."""
        return self.trainable and self.bits < 32

    def split(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """Split arrays into those that are gathered by row and the codebooks."""
        rows = len(arrays) - self.shared
        return arrays[:rows], arrays[rows:]

    @property
    def arrays(self) -> int:
        """The number of arrays that a table is stored in."""
        return len(self.rows(np.zeros((1, 1), dtype=np.float32)))

    def take_rows(self, arrays: Sequence[np.ndarray], kept: Integers) -> tuple[np.ndarray, ...]:
        """Return the arrays of the rows `kept`, ascending; codes and scales are copied, not rounded again."""
        rows, shared = self.split(arrays)
        return *(array[kept] for array in rows), *shared

    def basis(self, table: Floats) -> Floats | None:
        """Return the matrix `(width, width)` to multiply a table by before storing it, or None."""
        return None

    def frequent_count(self, rows: int) -> int:
        """Return how many of the first rows are stored as those of frequent tokens; without parts, all."""
        return rows

    def size(self, rows: int, width: int) -> int:
        """Return the size in bytes of the arrays of a table."""
        gathered, shared = self.split(self.rows(np.zeros((1, width), dtype=np.float32)))
        return rows * _bytes(gathered) + _bytes(shared)


@dataclass(frozen=True)
class MixedCodec(Codec):
    """The `Codec` of `mixed_rows`, with `numbers` components per codeword.

    The place of a row in its part follows from its id: no array is gathered by id, and `values` decodes a whole table.
    A part without rows keeps one, which nothing looks up.
    """

    numbers: int = 5

    def take_rows(self, arrays: Sequence[np.ndarray], kept: Integers) -> tuple[np.ndarray, ...]:
        *first, codes, words, step, count = arrays
        often, rest = kept[kept < count], kept[kept >= count] - count
        left = np.array([len(often)], dtype=count.dtype)
        return *(_take_or_first(array, often) for array in first), _take_or_first(codes, rest), words, step, left

    def basis(self, table: Floats) -> Floats | None:
        """Return the rotation for the rows that become codewords, `(width, width)`."""
        return compute_rotation(
            _take_or_first(table, np.arange(self.frequent_count(len(table)), len(table))), self.numbers
        )

    def frequent_count(self, rows: int) -> int:
        """Return how many of the first rows are stored in int4."""
        return count_frequent(rows)

    def size(self, rows: int, width: int) -> int:
        # A table of one row has one row in each part.
        *first, codes, words, step, count = self.rows(np.zeros((1, width), dtype=np.float32))
        often = self.frequent_count(rows)
        rest = max(1, rows - often)
        return often * _bytes(first) + rest * codes.nbytes + _bytes([words, step, count])


def _take_or_first(array, rows):
    return array[rows] if len(rows) else array[:1]


def _bytes(arrays):
    return sum(array.nbytes for array in arrays)


def _mixed_codec(name, numbers, bits):
    rows = partial(mixed_rows, size=numbers)
    return MixedCodec(name, rows, mixed_values, bits, 7, least_cosine=0.9, trainable=False, numbers=numbers)


_CODECS = (
    Codec("uint8", uint8_rows, uint8_values, 8, searched=True),
    # For runtimes that multiply without an offset. A search does not try it, as its numbers are those of uint8.
    Codec("int8-row", int8_rows, int8_values, 8),
    Codec("int4", int4_rows, int4_values, 4, least_cosine=0.9, searched=True),
    Codec("pq4", partial(product_rows, size=4), product_values, 2, 2, least_cosine=0.8, trainable=False, searched=True),
    Codec("pq8", partial(product_rows, size=8), product_values, 1, 2, least_cosine=0.5, trainable=False, searched=True),
    _mixed_codec("int4-pq5", 5, 1),
    _mixed_codec("int4-pq3", 3, 2),
    Codec("float32", float32_rows, float32_values, 32),
)
CODECS = {codec.name: codec for codec in _CODECS}
# The names of the formats with two parts, which differ in the number of components of a codeword.
MIXED_CODECS = tuple(codec.name for codec in _CODECS if isinstance(codec, MixedCodec))


def encode_table(name: str, table: Floats) -> tuple[np.ndarray, ...]:
    """Encode a table. Returns the arrays to store, codebooks last. `name` is the format, a key of `CODECS`."""
    return CODECS[name].rows(table)


def stored_bytes(name: str, rows: int, width: int) -> int:
    """Return the size in bytes of an encoded table."""
    return CODECS[name].size(rows, width)


def decode_rows(name: str, arrays: Sequence[np.ndarray], width: int) -> Floats:
    """Decode rows that were gathered from the arrays of `encode_table`. Returns a float32 array `(..., width)`."""
    return CODECS[name].values(*arrays)[..., :width]


def round_trip(name: str, table: Floats) -> Floats:
    """Return a table as a format keeps it: encoded and decoded. Returns a float32 array `(rows, width)`."""
    return decode_rows(name, encode_table(name, table), table.shape[1])[: len(table)]


def find_places(codes: Bytes) -> NDArray[np.int32]:
    """Return codes `(..., places)` as row numbers of the concatenated codebooks."""
    return codes.astype(np.int32) + CODEWORDS * np.arange(codes.shape[-1], dtype=np.int32)


def _as_float(scales):
    return scales.astype(np.float32) * np.float32(2.0**-FRACTION_BITS)


def _groups(rows, stored):
    padded = np.pad(rows, [(0, 0), (0, stored - rows.shape[1])])
    return padded.reshape(len(rows), -1, GROUP)


def _codes(groups, steps, scales):
    step = (steps * _as_float(scales))[..., None]
    codes = np.clip(np.round(groups / step), INT4_LOWEST, INT4_HIGHEST) + INT4_ZERO
    return codes.astype(np.uint8).reshape(len(groups), -1)
