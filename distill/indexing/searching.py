"""The passages of an index that are nearest to a question, exactly.

Quick products bound every passage's score from both sides; those that may be among the best are scored again exactly.
Of a compact index the best are scored once more, by their text; with words, their shares of the question are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..retrieval.products import Int8Rows, stored_rows
from ..retrieval.ragged import counts_of, edges, rows_of
from ..settings.choices import PASSAGE_SCORES
from ..system.types import Booleans, Floats, Integers
from .stored import Index

# A passage with all of a question's words stands higher by so many standard deviations of the question's scores.
# Chosen on XQuAD dev; benchmarks/indexing/hybrid.py.
WEIGHT = 8
# A question's unit vector and rows to their scores and the numbers of their best sentences.
Scored: TypeAlias = Callable[[Floats, Integers], tuple[Floats, Integers]]


@dataclass(frozen=True)
class Nearest:
    """Rows of passages, best first, int64 `(k,)`, their scores, float32 `(k,)`, and each one's best sentence, from 0.

    Without vectors of sentences `sentences` are all -1.
    """

    rows: Integers
    scores: Floats
    sentences: Integers


class Searcher:
    """Searches an index, which stays open; `score` is one of `PASSAGE_SCORES`, by default the index's own.

    `again` scores the best passages of a compact index once more, better; as many as the index says.

    Raises `InputError` for a score that needs vectors of sentences which the index has not.
    """

    def __init__(self, index: Index, score: str | None = None, again: Scored | None = None) -> None:
        self.index, self.score, self.again = index, score or index.score, again
        if self.score not in PASSAGE_SCORES or (self.score != "vector" and not index.has_sentences):
            raise InputError(f"{index.path}: without sentences, --score {self.score} needs them; take --score vector")
        self._passages = _rows(index, "passage")
        self._sentences = _rows(index, "sentence") if index.has_sentences else self._passages

    def search(self, question: Floats, k: int, mask: Booleans | None = None, shares: Floats | None = None) -> Nearest:
        """Return the `k` passages with the highest scores for a unit vector `(d,)`, fewer where there are fewer.

        `mask`, bool `(passages,)`, has those that may be returned; `shares`, float32 `(passages,)`, of the question's
        words, `lexical.Lexical.shares`, is added `WEIGHT` times in `spread`. Equal scores stand by their rows.
        """
        quick, error = self._quick(question)
        added = np.zeros_like(quick) if shares is None else shares * np.float32(WEIGHT * spread(quick))
        first = max(k, self.index.scored_again) if self.again else k
        nearest = _best(_candidates(quick + added, error, first, mask), self.scores, question, added, first)
        return _best(nearest.rows, self.again, question, added, k) if self.again else nearest

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
        counts = counts_of(starts, rows)
        first = edges(counts)[:-1]
        products = self._sentences.exact(question, rows_of(starts, rows))
        best = np.maximum.reduceat(products, first) if len(rows) else np.zeros(0)
        at = np.flatnonzero(products == np.repeat(best, counts))
        number = at[np.searchsorted(at, first)] - first
        parts = {"vector": 0.0, "sentence": best, "sum": best}[self.score]
        wholes = 0.0 if self.score == "sentence" else self._passages.exact(question, rows)
        return np.asarray(wholes + parts, dtype=np.float32), number


def spread(scores: Floats) -> float:
    """Return the standard deviation of scores to two digits, which it has in common with either kernel's."""
    return float(f"{float(np.std(scores)) if len(scores) else 0:.1e}")


def _candidates(quick, error, k, mask):
    """Rows, ascending, among which are the k with the highest scores, of scores that are off by `error` at most."""
    allowed = np.arange(len(quick)) if mask is None else np.flatnonzero(mask)
    if k >= len(allowed):
        return allowed
    among = quick[allowed]
    least = np.partition(among, len(among) - k)[len(among) - k]
    return allowed[among >= least - 2 * error]


def _best(rows, scored, question, added, k):
    scores, sentences = scored(question, rows)
    scores = scores + added[rows]
    order = np.lexsort((rows, -scores))[:k]
    return Nearest(rows[order], scores[order], sentences[order])


def _rows(index: Index, kind: str) -> Int8Rows:
    codes, scales = (index.array(f"{kind}_{part}") for part in ("vectors", "scales"))
    return stored_rows(cast("NDArray[np.uint8]", codes), cast(Floats, scales), index.bits, index.axes)
