"""A table as an artefact stores it, and a trained one in the same codewords: rows that did not move keep theirs.

A student that starts from a released encoder has its rows already rounded to codewords. Rounded to new ones, each row
would lose as much again, the many that no text of the training has too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...system.types import Floats, Integers
from .codecs import column_values, decoded, int4_rows
from .products import CODEWORDS, nearest, row_lengths

CODEC = "int4-pq5"
# Rows that tell how long a row of codewords is before its length multiplies it.
SAMPLE = 4096
# Of a row's largest number. A row that an average of weights brought back to itself has not moved.
STILL = 1e-5


@dataclass(frozen=True)
class StoredTable:
    """The `arrays` of a table `(rows, width)` in the format `int4-pq5`."""

    arrays: tuple[np.ndarray, ...]
    rows: int
    width: int

    @property
    def values(self) -> Floats:
        """The table that it stands for, float32 `(rows, width)`."""
        return decoded(CODEC, self.arrays, self.width)[: self.rows]

    def again(self, table: Floats) -> tuple[np.ndarray, ...]:
        """The arrays of a float32 table `(rows, width)`: those of rows that moved anew, in the same codewords."""
        *first, codes, words, step, count = self.arrays
        often, moved = int(count[0]), self._moved(table)
        first, codes = [array.copy() for array in first], codes.copy()
        here, there = moved[moved < often], moved[moved >= often]
        for array, rows in zip(first, int4_rows(table[here]), strict=True):
            array[here] = rows
        codes[there - often] = self._codes(table[there])
        return *first, codes, words, step, count

    def _moved(self, table: Floats) -> Integers:
        """The rows, ids, that are others than before."""
        far = np.abs(table - self.values).max(axis=1)
        return np.flatnonzero(far > STILL * np.abs(table).max(axis=1))

    def _codes(self, rows: Floats) -> Integers:
        """Codes `(n, places)` of rows `(n, width)`: the end of each with its length, then the nearest codewords."""
        words, step = self.arrays[-3:-1]
        books = words.astype(np.float32).reshape(-1, CODEWORDS, words.shape[1])
        body = (len(books) - 1) * words.shape[1]
        last = self._ends(rows[:, body:], row_lengths(rows), books[-1])
        parts = (rows[:, :body] / (books[-1, last, -1:] * step)).reshape(len(rows), len(books) - 1, words.shape[1])
        firsts = [nearest(np.ascontiguousarray(parts[:, place]), book) for place, book in enumerate(books[:-1])]
        return np.column_stack([*firsts, last]).astype(np.uint8)

    def _ends(self, left: Floats, lengths: Floats, ends: Floats) -> Integers:
        """The last codes `(n,)`, as `codecs.column_rows` chose them: of columns that are left, and of lengths."""
        *_, codes, words, step, _ = self.arrays
        some = codes[:SAMPLE]
        # A codeword's whole number of a length, times this, is that of the row.
        unit = np.median(np.linalg.norm(column_values(some, words, step), axis=1) / ends[some[:, -1], -1])
        known = [ends[:, : left.shape[1]] * (step / unit), np.log(ends[:, -1:] * unit)]
        return nearest(np.concatenate([left / lengths, np.log(lengths)], axis=1), np.concatenate(known, axis=1))
