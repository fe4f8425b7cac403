"""A table as an artefact stores it, and a trained one in the same codewords: rows that did not move keep theirs.

A student that starts from a released encoder has its rows already rounded to codewords. Rounded to new ones, each row
would lose as much again, the many that no text of the training has too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...system.types import Floats, Integers
from .codecs import CODECS, column_values, decoded, frequent, int4_rows
from .products import CODEWORDS, nearest, row_lengths

CODEC = "int4-pq5"
# Rows that tell how long a row of codewords is before its length multiplies it.
SAMPLE = 4096
# Of a row's largest number. A row that an average of weights brought back to itself has not moved.
STILL = 1e-5


@dataclass(frozen=True)
class Books:
    """Codebooks `words` `(places, 256, size)` of all places but the last, whose codewords have the columns that are
    `left` `(256, n)`; both times its `scales` `(256, 1)`. `ends` `(256, n + 1)` tell which of these is nearest: the
    columns that are left of a row of unit length, and the logarithm of a row's length.
    """

    words: Floats
    left: Floats
    scales: Floats
    ends: Floats


@dataclass(frozen=True)
class StoredTable:
    """The `arrays` of a table `(rows, width)` in one of the formats `codecs.MIXED`."""

    arrays: tuple[np.ndarray, ...]
    rows: int
    width: int

    @property
    def values(self) -> Floats:
        """The table that it stands for, float32 `(rows, width)`."""
        return decoded(CODEC, self.arrays, self.width)[: self.rows]

    def again(self, table: Floats) -> StoredTable:
        """The float32 table `(rows, width)` in the same codewords: rows that moved take the nearest, others stay."""
        return self._round(table, self._moved(table))

    def _round(self, table, moved):
        """The table with its `moved` rows, ids, in the nearest codewords, those of the frequent ones in int4."""
        (*first, codes, words, step, count), often = self.arrays, self.frequent
        first, codes = [array.copy() for array in first], codes.copy()
        here, there = moved[moved < often], moved[moved >= often]
        for array, rows in zip(first, int4_rows(table[here]), strict=True):
            array[here] = rows
        codes[there - often] = self.codes(table[there])
        return replace(self, arrays=(*first, codes, words, step, count))

    def promote(self, table: Floats) -> tuple[StoredTable, Integers]:
        """Return the table as `again` keeps it, but for the moved rows that codewords would change most: int4 has them.

        They are an eighth of the rows at most, no more than int4 has already, and stand right behind those. Beside it
        the order of the rows, int64 `(rows,)`, the id of each in `table`.
        """
        often, moved = self.frequent, self._moved(table)
        again = self._round(table, moved)
        *first, codes, words, step, _ = again.arrays
        moved = moved[moved >= often]
        lost = np.square(again.values[moved] - table[moved]).sum(axis=1)
        # One row at least is left to the codewords.
        most = min(often, frequent(self.rows), len(codes) - 1)
        best = np.sort(moved[np.argsort(-lost, kind="stable")[:most]])
        pairs = zip(first, int4_rows(table[best]), strict=True)
        first = [np.concatenate([before, promoted]) for before, promoted in pairs]
        rest = np.setdiff1d(np.arange(often, self.rows), best)
        count = np.array([often + len(best)], dtype=np.int32)
        arrays = (*first, codes[rest - often], words, step, count)
        return replace(self, arrays=arrays), np.concatenate([np.arange(often), best, rest])

    def keep(self, table: Floats) -> Floats:
        """Return the float32 table `(rows, width)` as `promote` stores it, each row in its place."""
        stored, order = self.promote(table)
        values = np.empty_like(table)
        values[order] = stored.values
        return values

    def taken(self, kept: Integers) -> StoredTable:
        """The table of the `kept` rows alone, ascending ids."""
        return StoredTable(CODECS[CODEC].taken(self.arrays, kept), len(kept), self.width)

    @property
    def frequent(self) -> int:
        """How many of the rows, the first, are in int4."""
        return int(self.arrays[-1][0])

    @cached_property
    def books(self) -> Books:
        """The codewords of the rows behind these, and the numbers that tell a row's end."""
        *_, codes, words, step, _ = self.arrays
        books = words.astype(np.float32).reshape(-1, CODEWORDS, words.shape[1])
        left, lengths, some = self.width - (len(books) - 1) * words.shape[1], books[-1, :, -1:], codes[:SAMPLE]
        # A codeword's whole number of a length, times this, is that of the row.
        unit = np.median(np.linalg.norm(column_values(some, words, step), axis=1) / lengths[some[:, -1], 0])
        ends = np.concatenate([books[-1, :, :left] * (step / unit), np.log(lengths * unit)], axis=1)
        return Books(books[:-1], books[-1, :, :left], lengths * step, ends.astype(np.float32))

    def codes(self, rows: Floats) -> Integers:
        """Codes `(n, places)` of rows `(n, width)`: the end of each with its length, then the nearest codewords."""
        books, lengths = self.books, row_lengths(rows)
        body = books.words.shape[0] * books.words.shape[2]
        last = nearest(np.concatenate([rows[:, body:] / lengths, np.log(lengths)], axis=1), books.ends)
        parts = (rows[:, :body] / books.scales[last]).reshape(len(rows), *books.words.shape[::2])
        firsts = [nearest(np.ascontiguousarray(parts[:, place]), book) for place, book in enumerate(books.words)]
        return np.column_stack([*firsts, last]).astype(np.uint8)

    def _moved(self, table: Floats) -> Integers:
        """The rows, ids, that are others than before."""
        far = np.abs(table - self.values).max(axis=1)
        return np.flatnonzero(far > STILL * np.abs(table).max(axis=1))
