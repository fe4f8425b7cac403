"""Add rows to a stored embedding table: old rows keep their codes, and new ones use the existing codewords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...system.types import Floats, Integers
from .codecs import CODECS, MIXED_CODECS, int4_rows, uint8_values
from .products import CODEWORDS, find_nearest
from .stored_table import StoredTable


@dataclass(frozen=True)
class Addition:
    """New rows `(n, width)` to add to a stored embedding table.

    If a format has separate parts for frequent rows and all others, each new row is placed at the end of its part.
    """

    codec: str
    rows: int
    new: Floats
    often: int = 0

    def order(self, arrays: Sequence[np.ndarray]) -> Integers:
        """Return the order of rows in the larger table: ids below `rows` for old ones, and the others for new ones."""
        ids, first = np.arange(self.rows + len(self.new)), self._count_frequent(arrays)
        return np.concatenate(
            [ids[:first], ids[self.rows :][: self.often], ids[first : self.rows], ids[self._first_rare_id :]]
        )

    def extend(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Return the arrays of the larger table, with its rows in their `order`; no old row is rounded again."""
        if self.codec in MIXED_CODECS:
            return self._mix_rows(arrays)
        codec = CODECS[self.codec]
        rows, shared = codec.split(arrays)
        new = [_codes(self.new, rows[0], shared)] if shared else codec.rows(self.new)
        return *(np.concatenate([old, view_as_stored(more, old)]) for old, more in zip(rows, new, strict=True)), *shared

    @property
    def _first_rare_id(self):
        return self.rows + self.often

    def _count_frequent(self, arrays):
        return int(arrays[-1][0]) if self.codec in MIXED_CODECS else self.rows

    def _mix_rows(self, arrays):
        *first, codes, words, step, count = arrays
        table = StoredTable(tuple(arrays), self.rows, self.new.shape[1])
        new, rest = int4_rows(self.new[: self.often]), table.codes(self.new[self.often :])
        # A part without rows stores one that nothing looks up.
        here, there = int(count[0]), self.rows - int(count[0])
        often = [np.concatenate([old[:here], more]) for old, more in zip(first, new, strict=True)]
        larger = np.array([here + self.often], dtype=count.dtype)
        return *often, np.concatenate([codes[:there], rest]), words, step, larger


def view_as_stored(array: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """View an array in the type of a stored one; a flatbuffer stores float32 as bytes."""
    return np.ascontiguousarray(array).view(stored.dtype)


def _codes(table: Floats, codes: np.ndarray, shared: Sequence[np.ndarray]) -> np.ndarray:
    """Return the nearest codewords of each row, uint8 `(n, places)`."""
    words, scales = shared
    books = uint8_values(words, scales).reshape(codes.shape[1], CODEWORDS, -1)
    places, size = codes.shape[1], books.shape[2]
    parts = np.pad(table, [(0, 0), (0, places * size - table.shape[1])]).reshape(len(table), places, size)
    chosen = [find_nearest(np.ascontiguousarray(parts[:, place]), book) for place, book in enumerate(books)]
    return np.column_stack(chosen).astype(np.uint8)
