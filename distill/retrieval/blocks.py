"""Scores in blocks: how many are held at once, and the highest of each row so far.

Whatever the size of the corpus, mining and evaluation hold these scores besides their vectors:

| caller | scores at once | as float32 |
|---|---|---|
| `exact.top_k`, online negatives | `ROWS` x `COLUMNS` | 64 MiB |
| `negatives.mine_maxp_candidates` | `CELLS`, or those of one document with more passages | 64 MiB |
| `exact.candidate_ranks` | up to `WHOLE`, beyond that `ROWS` x `COLUMNS` | 512 MiB |

Comparisons of these scores take half as much memory again. Vectors may be memory-mapped: only those of one block are
read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import Booleans, Floats, Integers

# Queries and rows of the corpus whose scores are held at once.
ROWS, COLUMNS = 1024, 16384
CELLS = ROWS * COLUMNS
# A block of questions is ranked against the whole corpus at once if that takes at most so many scores.
WHOLE = 2**27
# Rows that are partitioned at once, and the multiple of k above which a block is partitioned before it is sorted.
STRIP, MANY = 64, 8


def spans(n: int, columns: int = COLUMNS) -> list[slice]:
    """Return slices that cut the rows of a corpus into blocks."""
    return [slice(start, min(start + columns, n)) for start in range(0, n, columns)]


def document_spans(document_of: Integers, columns: int = COLUMNS) -> list[slice]:
    """Return slices that cut passages, by the document of each, ascending, into blocks of whole documents."""
    edges = np.append(np.flatnonzero(np.diff(document_of, prepend=-1)), len(document_of))
    blocks, start = [], 0
    while start < len(document_of):
        place = np.searchsorted(edges, [start + columns, start], "right")
        stop = int(edges[max(place[0] - 1, place[1])])
        blocks.append(slice(start, stop))
        start = stop
    return blocks


def questions_per_block(blocks: Sequence[slice], cells: int = CELLS) -> int:
    """Return how many questions can be scored against any of some blocks at once; at least 1."""
    return max(1, cells // max((block.stop - block.start for block in blocks), default=1))


class Product:
    """Scores of queries and rows in memory that the next call reuses, as allocating new memory is slow."""

    def __init__(self) -> None:
        self._held = np.empty(0, dtype=np.float32)

    def __call__(self, queries: Floats, rows: Floats) -> Floats:
        """Return the scores of queries and rows: a float array `(q, r)`, valid until the next call."""
        shape, kind = (len(queries), len(rows)), np.result_type(queries, rows)
        if self._held.size < shape[0] * shape[1] or self._held.dtype != kind:
            self._held = np.empty(shape[0] * shape[1], dtype=kind)
        out = self._held[: shape[0] * shape[1]].reshape(shape)
        return np.matmul(np.asarray(queries), np.asarray(rows).T, out=out)


class TopScores:
    """The k highest scores of each row, as blocks of scores come in.

    `values` and `indices`, `(rows, k)`, hold the highest first; missing ones are -inf and -1. Equal scores keep the
    order in which they came, those of one block the order of their columns. Scores that are not finite have no index,
    and NaN is never among the highest.
    """

    def __init__(self, rows: int, k: int) -> None:
        self.values, self.k = np.full((rows, k), -np.inf, dtype=np.float32), k
        self.indices = np.full((rows, k), -1, dtype=np.int64)

    def add(self, scores: Floats, index_of: Callable[[Integers, Integers], Integers]) -> None:
        """Add scores `(rows, columns)`; `index_of` is called for the rows and columns of the few that count."""
        row, column = self._above(scores)
        if len(row):
            self._merge(row, scores[row, column], index_of(row, column))

    def _above(self, scores):
        """Return row and column of the scores above a row's k-th so far, or of its k highest if those are many."""
        if not self.k:
            return np.zeros((2, 0), dtype=np.int64)
        above = scores > self.values[:, -1:]
        if np.count_nonzero(above) > MANY * self.k * len(scores) and self.k < scores.shape[1]:
            for start in range(0, len(scores), STRIP):
                above[start : start + STRIP] &= mark_highest(scores[start : start + STRIP], self.k)
        return np.divmod(np.flatnonzero(above), scores.shape[1])

    def _merge(self, row, values, indices):
        """Sort in values, given by ascending row and column, behind those that their rows hold."""
        touched = np.unique(row)
        rows = np.concatenate([np.repeat(touched, self.k), row])
        values = np.concatenate([self.values[touched].ravel(), values])
        indices = np.concatenate([self.indices[touched].ravel(), indices])
        order = np.lexsort((-values, rows))
        kept = order[np.searchsorted(rows[order], touched)[:, None] + np.arange(self.k)]
        self.values[touched] = values[kept]
        self.indices[touched] = np.where(np.isfinite(values[kept]), indices[kept], -1)


def mark_highest(scores: Floats, k: int) -> Booleans:
    """Mark the highest scores of each row; among equal ones the first. Returns a boolean array `(rows, columns)`."""
    least = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    # NaN sorts last, so a NaN here means that the row has fewer than `k` numbers.
    least[np.isnan(least)] = -np.inf
    chosen = scores >= least
    for row in np.flatnonzero(np.count_nonzero(chosen, axis=1) > k):
        equal = np.flatnonzero(scores[row] == least[row])
        chosen[row, equal[k - np.count_nonzero(chosen[row]) :]] = False
    return chosen


def top_places(scores: Floats, k: int) -> Integers:
    """Return the places of the highest of scores `(n,)`, in the order of a stable sort."""
    if k < len(scores):
        places = np.flatnonzero(mark_highest(scores[None], k)[0])
        return places[np.argsort(-scores[places], kind="stable")]
    return np.argsort(-scores, kind="stable")


def part_edges(counts: Integers | Sequence[int]) -> Integers:
    """Return the first row of each of n parts, and the end of the last, as an int64 array `(n + 1,)`."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def consecutive_runs(first: Integers, counts: Integers) -> Integers:
    """Return runs of consecutive numbers, end to end, by the first number and the length of each."""
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def counts_of(starts: NDArray[np.generic], rows: Integers) -> Integers:
    """Return how many rows some parts have; only their edges, `(n + 1,)` from `part_edges`, are read."""
    return starts[rows + 1].astype(np.int64) - starts[rows].astype(np.int64)


def rows_of(starts: NDArray[np.generic], rows: Integers) -> Integers:
    """Return the rows of some parts, end to end: an int64 array."""
    return consecutive_runs(starts[rows].astype(np.int64), counts_of(starts, rows))
