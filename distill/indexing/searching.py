"""The passages of an index that are nearest to a question, exactly.

Quick products bound every passage's score from both sides; those that may be among the best are scored again exactly.
A passage's score is computed in `Searcher` alone: what joins another ranking, or fewer bits with a second look, takes
`candidates` and `scores` from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..system.types import Booleans, Floats, Integers
from .products import Int8Rows
from .stored import SCORES, Index, ranges


@dataclass(frozen=True)
class Nearest:
    """Rows of passages, best first, int64 `(k,)`, their scores, float32 `(k,)`, and each one's best sentence, from 0.

    Without vectors of sentences `sentences` are all -1.
    """

    rows: Integers
    scores: Floats
    sentences: Integers


class Searcher:
    """Searches an index, which stays open; `score` is one of `SCORES`, by default the index's own.

    Raises `InputError` for a score that needs vectors of sentences which the index has not.
    """

    def __init__(self, index: Index, score: str | None = None) -> None:
        self.index, self.score = index, score or index.score
        if self.score not in SCORES or (self.score != "vector" and not index.has_sentences):
            raise InputError(f"{index.path}: without sentences, --score {self.score} needs them; take --score vector")
        self._passages, self._sentences = _rows(index, "passage"), _rows(index, "sentence")

    def search(self, question: Floats, k: int, mask: Booleans | None = None) -> Nearest:
        """Return the `k` passages with the highest scores for a unit vector `(d,)`, fewer where there are fewer.

        `mask`, bool `(passages,)`, has those that may be returned. Equal scores stand by their rows.
        """
        rows = self.candidates(question, k, mask)
        scores, sentences = self.scores(question, rows)
        order = np.lexsort((rows, -scores))[:k]
        return Nearest(rows[order], scores[order], sentences[order])

    def candidates(self, question: Floats, k: int, mask: Booleans | None = None) -> Integers:
        """Return rows, int64 ascending, among which are the `k` passages with the highest scores."""
        quick, error = self._quick(question)
        allowed = np.arange(len(quick)) if mask is None else np.flatnonzero(mask)
        if k >= len(allowed):
            return allowed
        among = quick[allowed]
        least = np.partition(among, len(among) - k)[len(among) - k]
        return allowed[among >= least - 2 * error]

    def _quick(self, question):
        """Scores of all passages, float32, and how far each is from the exact one at most."""
        if self.score == "vector":
            return self._passages.quick(question)
        scores, error = self._sentences.quick(question)
        starts = self.index.array("sentence_starts")[:-1].astype(np.int64)
        best = np.maximum.reduceat(scores, starts) if len(starts) else np.zeros(0, np.float32)
        if self.score == "sentence":
            return best, error
        wholes, more = self._passages.quick(question)
        return wholes + best, error + more

    def scores(self, question: Floats, rows: Integers) -> tuple[Floats, Integers]:
        """Return the exact scores of passages, float32, and the number of each one's best sentence, -1 without."""
        if not self.index.has_sentences:
            return self._passages.exact(question, rows).astype(np.float32), np.full(len(rows), -1)
        starts = self.index.array("sentence_starts")
        first = starts[rows].astype(np.int64)
        counts = starts[rows + 1].astype(np.int64) - first
        edges = np.cumsum(counts) - counts
        products = self._sentences.exact(question, ranges(first, counts))
        best = np.maximum.reduceat(products, edges) if len(rows) else np.zeros(0)
        at = np.flatnonzero(products == np.repeat(best, counts))
        number = at[np.searchsorted(at, edges)] - edges
        parts = {"vector": 0.0, "sentence": best, "sum": best}[self.score]
        wholes = 0.0 if self.score == "sentence" else self._passages.exact(question, rows)
        return np.asarray(wholes + parts, dtype=np.float32), number


def _rows(index: Index, kind: str) -> Int8Rows:
    codes, scales = (index.sections.get(f"{kind}_{part}") for part in ("vectors", "scales"))
    return Int8Rows(cast("NDArray[np.int8]", codes), cast(Floats, scales))
