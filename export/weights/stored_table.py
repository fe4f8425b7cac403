"""Requantise a trained table with the codewords that it started from, so that unmoved rows keep their codes.

A student that starts from a released encoder has embeddings that are already rounded to codewords. With new codewords
every row would lose as much again, including the many that occur in no training text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...system.types import Floats, Integers
from .codecs import CODECS, column_values, count_frequent, decode_rows, find_places, int4_rows
from .kernels import LEVELS
from .products import CODEWORDS, find_nearest, row_lengths

CODEC = "int4-pq5"
# The number of rows from which the length of a row of codewords, before its own length multiplies it, is estimated.
SAMPLE = 4096
# A row has not moved if it changed less than this share of its largest number, for example by averaged weights.
STILL = 1e-5


@dataclass(frozen=True)
class Codebooks:
    """The codebooks of a stored table.

    Args:
        words: The codebooks of all places but the last, `(places, 256, size)`.
        left: The remaining columns, which the codewords of the last place hold, `(256, n)`.
        scales: The factor of both, by the codeword of the last place, `(256, 1)`.
        ends: For finding the nearest codeword of the last place, `(256, n + 1)`: the remaining columns of a row of unit
            length, and the logarithm of the row's length.
    """

    words: Floats
    left: Floats
    scales: Floats
    ends: Floats


@dataclass(frozen=True)
class StoredTable:
    """A table in one of the formats `MIXED`, as it is stored."""

    arrays: tuple[np.ndarray, ...]
    rows: int
    width: int

    @property
    def values(self) -> Floats:
        """The table that the arrays stand for, float32 `(rows, width)`."""
        return decode_rows(CODEC, self.arrays, self.width)[: self.rows]

    def requantize(self, table: Floats) -> StoredTable:
        """Store a float32 table `(rows, width)` with the same codewords; rows that did not move keep their codes."""
        return self._round(table, self._find_moved(table))

    def _round(self, table, moved):
        """Store the table with its `moved` rows (ids) as their nearest codewords, or in int4 if they are frequent."""
        (*first, codes, words, step, count), often = self.arrays, self.frequent_count
        first, codes = [array.copy() for array in first], codes.copy()
        here, there = moved[moved < often], moved[moved >= often]
        for array, rows in zip(first, int4_rows(table[here]), strict=True):
            array[here] = rows
        codes[there - often] = self.codes(table[there])
        return replace(self, arrays=(*first, codes, words, step, count))

    def promote(self, table: Floats) -> tuple[StoredTable, Integers]:
        """Store a table as `requantize` does, but give int4 to the moved rows that codewords would change most.

        These are at most an eighth of the rows, and no more than int4 has already. They are placed right behind the
        latter. Returns the stored table, and the ids of its rows in `table`, int64 `(rows,)`.
        """
        often, moved = self.frequent_count, self._find_moved(table)
        again = self._round(table, moved)
        *first, codes, words, step, _ = again.arrays
        moved = moved[moved >= often]
        lost = np.square(again.values[moved] - table[moved]).sum(axis=1)
        # At least one row is left to the codewords.
        most = min(often, count_frequent(self.rows), len(codes) - 1)
        best = np.sort(moved[np.argsort(-lost, kind="stable")[:most]])
        pairs = zip(first, int4_rows(table[best]), strict=True)
        first = [np.concatenate([before, promoted]) for before, promoted in pairs]
        rest = np.setdiff1d(np.arange(often, self.rows), best)
        count = np.array([often + len(best)], dtype=np.int32)
        arrays = (*first, codes[rest - often], words, step, count)
        return replace(self, arrays=arrays), np.concatenate([np.arange(often), best, rest])

    def keep(self, table: Floats) -> Floats:
        """Return a float32 table `(rows, width)` as `promote` stores it, with each row in its place."""
        stored, order = self.promote(table)
        values = np.empty_like(table)
        values[order] = stored.values
        return values

    @property
    def words(self) -> Floats:
        """The codewords as floats, `(places * 256, size)`; times `unit` they are about as large as the rows."""
        return self.arrays[-3].astype(np.float32)

    @property
    def unit(self) -> float:
        """The median factor from the whole number of a codeword to a number of a row."""
        return float(np.median(self.books.scales[self.arrays[-4][:, -1]]))

    def with_words(self, words: Floats) -> StoredTable:
        """Return the table with other codewords, rounded to whole numbers; the lengths of rows stay."""
        *first, before, step, count = self.arrays
        rounded = np.clip(np.round(words), -LEVELS, LEVELS).astype(np.int8)
        rounded[-CODEWORDS:, -1] = before[-CODEWORDS:, -1]
        return replace(self, arrays=(*first, rounded, step, count))

    def follow(self, table: Floats) -> StoredTable:
        """Return the table with the codewords of a table `(rows, width)` whose rows have the same codes.

        They are read from the first row of each code. If any other row disagrees, as after some moved by themselves,
        the codewords stay as they were.
        """
        *_, codes, words, _, _ = self.arrays
        often = self.frequent_count
        rows, places = table[often:], find_places(codes[: self.rows - often])
        parts = np.zeros((len(rows), places.shape[1] * words.shape[1]), np.float32)
        parts[:, : self.width] = rows / self.books.scales[codes[: len(rows), -1]]
        parts, learned = parts.reshape(*places.shape, -1), self.words
        for column in range(places.shape[1]):
            used, first = np.unique(places[:, column], return_index=True)
            learned[used] = parts[first, column]
        other = self.with_words(learned)
        return self if np.any(other._find_moved(table) >= often) else other

    def take_rows(self, kept: Integers) -> StoredTable:
        """Return the table with only the given rows, ascending ids `(n,)`."""
        return StoredTable(CODECS[CODEC].take_rows(self.arrays, kept), len(kept), self.width)

    @property
    def frequent_count(self) -> int:
        """The number of rows, the first ones, that are in int4."""
        return int(self.arrays[-1][0])

    @cached_property
    def books(self) -> Codebooks:
        *_, codes, words, step, _ = self.arrays
        books = words.astype(np.float32).reshape(-1, CODEWORDS, words.shape[1])
        left, lengths, some = self.width - (len(books) - 1) * words.shape[1], books[-1, :, -1:], codes[:SAMPLE]
        # The factor from the whole number that a codeword has for a length to the length of the row.
        unit = np.median(np.linalg.norm(column_values(some, words, step), axis=1) / lengths[some[:, -1], 0])
        ends = np.concatenate([books[-1, :, :left] * (step / unit), np.log(lengths * unit)], axis=1)
        return Codebooks(books[:-1], books[-1, :, :left], lengths * step, ends.astype(np.float32))

    def codes(self, rows: Floats) -> Integers:
        """Find the nearest codewords of rows `(n, width)`, the last place first, as it holds the length."""
        books, lengths = self.books, row_lengths(rows)
        body = books.words.shape[0] * books.words.shape[2]
        last = find_nearest(np.concatenate([rows[:, body:] / lengths, np.log(lengths)], axis=1), books.ends)
        parts = (rows[:, :body] / books.scales[last]).reshape(len(rows), *books.words.shape[::2])
        codes = [find_nearest(np.ascontiguousarray(parts[:, place]), book) for place, book in enumerate(books.words)]
        return np.column_stack([*codes, last]).astype(np.uint8)

    def _find_moved(self, table: Floats) -> Integers:
        """Return the ids of the rows that differ from those stored."""
        far = np.abs(table - self.values).max(axis=1)
        return np.flatnonzero(far > STILL * np.abs(table).max(axis=1))
