"""Scores in blocks: how many are held at once, and the highest of each row so far.

Mining and evaluation hold beside their vectors, whatever the size of the corpus:

| what | scores at once | of float32 |
|---|---|---|
| `exact.top_k`, online negatives | `ROWS` x `COLUMNS` | 64 MiB |
| `negatives.maxp_candidates` | `CELLS`; more only of a document with more passages than these | 64 MiB |
| `exact.candidate_ranks` | up to `WHOLE`, beyond that `ROWS` x `COLUMNS` | 512 MiB |

Comparisons of these scores add half as much again. Vectors may be memory-mapped: no more of them than a block's is read
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..system.types import Booleans, Floats, Integers

# Queries and rows of the corpus whose scores are held at once.
ROWS, COLUMNS = 1024, 16384
CELLS = ROWS * COLUMNS
# Up to so many scores a block of questions is ranked against the whole corpus at once.
WHOLE = 2**27
# Rows that are partitioned at once; they are where so many times the wanted number of scores would be sorted.
STRIP, MANY = 64, 8


def spans(n: int, columns: int = COLUMNS) -> list[slice]:
    """Slices that cut `n` rows of a corpus into blocks."""
    return [slice(start, min(start + columns, n)) for start in range(0, n, columns)]


def document_spans(document_of: Integers, columns: int = COLUMNS) -> list[slice]:
    """Slices of passages of whole documents: `columns` at most, or one document that has more of them.

    `document_of`, int `(passages,)`, is ascending.
    """
    edges = np.append(np.flatnonzero(np.diff(document_of, prepend=-1)), len(document_of))
    blocks, start = [], 0
    while start < len(document_of):
        place = np.searchsorted(edges, [start + columns, start], "right")
        stop = int(edges[max(place[0] - 1, place[1])])
        blocks.append(slice(start, stop))
        start = stop
    return blocks


def rows_beside(blocks: Sequence[slice], cells: int = CELLS) -> int:
    """The number of questions that have at most `cells` scores with any of the `blocks`; 1 at least."""
    return max(1, cells // max((block.stop - block.start for block in blocks), default=1))


class Product:
    """Scores `(q, r)` of queries `(q, d)` and rows `(r, d)`; the next call's take their place: new memory is slow."""

    def __init__(self) -> None:
        self._held = np.empty(0, dtype=np.float32)

    def __call__(self, queries: Floats, rows: Floats) -> Floats:
        shape, kind = (len(queries), len(rows)), np.result_type(queries, rows)
        if self._held.size < shape[0] * shape[1] or self._held.dtype != kind:
            self._held = np.empty(shape[0] * shape[1], dtype=kind)
        out = self._held[: shape[0] * shape[1]].reshape(shape)
        return np.matmul(np.asarray(queries), np.asarray(rows).T, out=out)


class Highest:
    """The `k` highest scores of each row as blocks of them come: `values` and `indices`, `(rows, k)`, highest first.

    What is missing has -inf and -1. Equal scores stand in the order in which they came, those of one block by their
    columns; what is not finite has no index, and NaN is never among the highest.
    """

    def __init__(self, rows: int, k: int) -> None:
        self.values, self.k = np.full((rows, k), -np.inf, dtype=np.float32), k
        self.indices = np.full((rows, k), -1, dtype=np.int64)

    def add(self, scores: Floats, index_of: Callable[[Integers, Integers], Integers]) -> None:
        """Take in scores `(rows, columns)`; `index_of(row, column)` gives the indices of the few that count."""
        row, column = self._above(scores)
        if len(row):
            self._merge(row, scores[row, column], index_of(row, column))

    def _above(self, scores):
        """Row and column of what is higher than a row's k-th so far; where that is much, of each row's `k` highest."""
        if not self.k:
            return np.zeros((2, 0), dtype=np.int64)
        above = scores > self.values[:, -1:]
        if np.count_nonzero(above) > MANY * self.k * len(scores) and self.k < scores.shape[1]:
            for start in range(0, len(scores), STRIP):
                above[start : start + STRIP] &= highest(scores[start : start + STRIP], self.k)
        return np.divmod(np.flatnonzero(above), scores.shape[1])

    def _merge(self, row, values, indices):
        """Sort in values, by ascending row and column, behind those that their rows hold."""
        touched = np.unique(row)
        rows = np.concatenate([np.repeat(touched, self.k), row])
        values = np.concatenate([self.values[touched].ravel(), values])
        indices = np.concatenate([self.indices[touched].ravel(), indices])
        order = np.lexsort((-values, rows))
        kept = order[np.searchsorted(rows[order], touched)[:, None] + np.arange(self.k)]
        self.values[touched] = values[kept]
        self.indices[touched] = np.where(np.isfinite(values[kept]), indices[kept], -1)


def highest(scores: Floats, k: int) -> Booleans:
    """Return the places of each row's `k` highest, bool `(rows, columns)`; of equal ones the first; k < columns."""
    least = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    # NaN comes last: there are fewer than `k` numbers.
    least[np.isnan(least)] = -np.inf
    chosen = scores >= least
    for row in np.flatnonzero(np.count_nonzero(chosen, axis=1) > k):
        equal = np.flatnonzero(scores[row] == least[row])
        chosen[row, equal[k - np.count_nonzero(chosen[row]) :]] = False
    return chosen


def head(scores: Floats, k: int) -> Integers:
    """Return the places of the `k` highest of scores `(n,)`, as a stable sort has them."""
    if k < len(scores):
        places = np.flatnonzero(highest(scores[None], k)[0])
        return places[np.argsort(-scores[places], kind="stable")]
    return np.argsort(-scores, kind="stable")
