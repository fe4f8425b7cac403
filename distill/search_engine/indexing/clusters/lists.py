"""Sort the vectors of an index into the lists of their centroids, which a page loads one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....retrieval.ragged import counts_of
from ....system.progress import task
from ....system.types import Floats, Integers
from ..index_file import Index
from .coder import PLACES, Coder

# Vectors that are coded at once.
BLOCK = 4096


@dataclass(frozen=True)
class Vectors:
    """The vectors of an index whose products with a question are its scores, one per sentence."""

    index: Index

    @cached_property
    def passage_of(self) -> Integers:
        """The passage of each vector, int64 `(n,)`."""
        if self.index.score == "vector":
            return np.arange(self.index.passages)
        passages = np.arange(self.index.passages)
        return np.repeat(passages, counts_of(self.index.array("sentence_starts"), passages))

    def rows(self, rows: Integers | slice) -> Floats:
        """Return some vectors, float32 `(rows, axes)`."""
        score, passages = self.index.score, self.passage_of[rows]
        if score == "vector":
            return self.index.vectors("passage", passages)
        sentences = self.index.vectors("sentence", rows)
        return sentences if score == "sentence" else sentences + self.index.vectors("passage", passages)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield all vectors in blocks."""
        for start in range(0, len(self.passage_of), BLOCK):
            part = slice(start, min(start + BLOCK, len(self.passage_of)))
            yield part, self.rows(part)


@dataclass(frozen=True)
class Lists:
    """The list of each vector, its code, and its passage."""

    lists: Integers
    codes: NDArray[np.uint8]
    passages: Integers
    count: int

    @cached_property
    def order(self) -> Integers:
        """The passages in the order of the lists of their first vectors, so that candidates lie near each other."""
        first = np.searchsorted(self.passages, np.arange(self.passages[-1] + 1 if len(self.passages) else 0))
        return np.argsort(self.lists[first], kind="stable")

    def sections(self, units: NDArray[np.uint32]) -> dict[str, NDArray[np.generic]]:
        """Return the lists: for each vector the place and size of its passage's record, then the codes."""
        order, entry = np.argsort(self.lists, kind="stable"), 4 + self.codes.shape[1]
        counts = np.bincount(self.lists, minlength=self.count)
        ends = np.cumsum(counts)
        parts = []
        for start, end in zip(ends - counts, ends, strict=True):
            rows = order[start:end]
            parts += [units[self.passages[rows]].astype("<u4").view(np.uint8), self.codes[rows].reshape(-1)]
        starts = np.concatenate([[0], ends * entry]).astype(np.uint32)
        return {"list_starts": starts, "lists": np.concatenate(parts) if parts else np.zeros(0, np.uint8)}


def sort_into_lists(vectors: Vectors, coder: Coder) -> Lists:
    """Return the list and the code of each vector."""
    lists, codes = np.empty(len(vectors.passage_of), np.int64), np.empty((len(vectors.passage_of), PLACES), np.uint8)
    with task("sort into clusters", len(lists)) as advance:
        for part, rows in vectors.blocks():
            lists[part], codes[part] = coder.codes(rows)
            advance(len(rows))
    return Lists(lists, codes, vectors.passage_of, len(coder.centroids[0]))
