"""Search an index exactly for the passages nearest to a question.

Quick products bound the score of every passage from both sides, and those that may be among the best are scored again
exactly. In a compact index the best are scored once more by their text. With words, their shares of the question are
added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...errors import InputError
from ...export.encode import shares
from ...retrieval.blocks import counts_of, part_edges, rows_of
from ...retrieval.codes import Int8Rows, stored_rows
from ...settings.choices import PASSAGE_SCORES
from ...system.text import drop_soft_hyphens
from ...system.types import Booleans, Floats, Integers
from .index_file import Index

# A passage with all of a question's words stands higher by so many standard deviations of the question's scores.
# Chosen on XQuAD dev; benchmarks/indexing/hybrid.py.
WEIGHT = 8
# A question's unit vector and rows to their scores and the numbers of their best sentences.
Scored: TypeAlias = Callable[[Floats, Integers], tuple[Floats, Integers]]


@dataclass(frozen=True)
class Nearest:
    """The nearest passages, best first: rows, scores, and the best sentence of each, or -1 without vectors of these."""

    rows: Integers
    scores: Floats
    sentences: Integers


class Searcher:
    """Searches an open index. Raises `InputError` if the score needs vectors of sentences that the index lacks."""

    def __init__(self, index: Index, score: str | None = None, again: Scored | None = None) -> None:
        self.index, self.score, self.again = index, score or index.score, again
        if self.score not in PASSAGE_SCORES or (self.score != "vector" and not index.has_sentences):
            raise InputError(f"{index.path}: without sentences, --score {self.score} needs them; take --score vector")
        self._shares = shares(index.passage_weight)
        self._passages = _rows(index, "passage")
        self._sentences = _rows(index, "sentence") if index.has_sentences else self._passages

    def search(self, question: Floats, k: int, mask: Booleans | None = None, shares: Floats | None = None) -> Nearest:
        """Return at most `k` passages with the highest scores; equal ones are ordered by row.

        `mask` says which passages may be found. `shares` are those of the question's words in each passage
        (`lexical.Lexical.shares`), added `WEIGHT` times the spread of scores.
        """
        quick, error = self._quick(question)
        added = np.zeros_like(quick) if shares is None else shares * np.float32(WEIGHT * measure_spread(quick))
        first = max(k, self.index.scored_again) if self.again else k
        nearest = _best(_find_candidates(quick + added, error, first, mask), self.scores, question, added, first)
        return _best(nearest.rows, self.again, question, added, k) if self.again else nearest

    def _quick(self, question):
        """Return the scores of all passages, float32, and the largest error of each."""
        if self.score == "vector":
            return self._passages.approximate_products(question)
        scores, error = self._sentences.approximate_products(question)
        starts = self.index.array("sentence_starts")[:-1].astype(np.int64)
        best = np.maximum.reduceat(scores, starts) if len(starts) else np.zeros(0, np.float32)
        if self.score == "sentence":
            return best, error
        wholes, more = self._passages.approximate_products(question)
        of_passage, of_sentence = self._shares
        return of_passage * wholes + of_sentence * best, of_passage * more + of_sentence * error

    def scores(self, question: Floats, rows: Integers) -> tuple[Floats, Integers]:
        """Score passages exactly. Returns the scores, float32, and the best sentence of each, or -1."""
        if not self.index.has_sentences:
            return self._passages.exact_products(question, rows).astype(np.float32), np.full(len(rows), -1)
        starts = self.index.array("sentence_starts")
        counts = counts_of(starts, rows)
        first = part_edges(counts)[:-1]
        products = self._sentences.exact_products(question, rows_of(starts, rows))
        best = np.maximum.reduceat(products, first) if len(rows) else np.zeros(0)
        at = np.flatnonzero(products == np.repeat(best, counts))
        number = at[np.searchsorted(at, first)] - first
        wholes = 0.0 if self.score == "sentence" else self._passages.exact_products(question, rows)
        of_passage, of_sentence = self._shares
        both = {"vector": wholes, "sentence": best, "sum": of_passage * wholes + of_sentence * best}[self.score]
        return np.asarray(both, dtype=np.float32), number


def measure_spread(scores: Floats) -> float:
    """Return the standard deviation of scores to two digits, which are the same with either kernel."""
    return float(f"{float(np.std(scores)) if len(scores) else 0:.1e}")


def _find_candidates(quick, error, k, mask):
    """Return rows, ascending, that include the k highest scores, given the largest `error` of quick ones."""
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


class Rescorer:
    """Scores passages as if they were stored in float32, by the encoder of the index."""

    def __init__(self, index: Index, encoder: Encoder, score: str) -> None:
        self.index, self.encoder, self.score = index, encoder, score

    def __call__(self, question: Floats, rows: Integers) -> tuple[Floats, Integers]:
        """Return scores of passages, float32, and the number of each one's best sentence, -1 without sentences."""
        passages = [self.index.text(row) for row in rows.tolist()]
        wholes, best = np.zeros(len(rows), dtype=np.float32), np.zeros(len(rows), dtype=np.float32)
        numbers = np.full(len(rows), -1)
        if self.score != "sentence":
            wholes = self._products(question, passages)
        if self.index.has_sentences:
            best, numbers = self._best_sentences(question, passages, rows)
        of_passage, of_sentence = map(np.float32, shares(self.index.passage_weight))
        both = {"vector": wholes, "sentence": best, "sum": of_passage * wholes + of_sentence * best}
        return both[self.score], numbers

    def _best_sentences(self, question, passages, rows):
        bounds = [self.index.bounds(row).tolist() for row in rows.tolist()]
        products = self._products(
            question, [text[a:b] for text, pairs in zip(passages, bounds, strict=True) for a, b in pairs]
        )
        parts = np.split(products, np.cumsum([len(pairs) for pairs in bounds])[:-1]) if len(rows) else []
        numbers = np.array([part.argmax() for part in parts], dtype=np.int64)
        return np.array([part.max() for part in parts], dtype=np.float32), numbers

    def _products(self, question: Floats, texts: list[bytes]) -> Floats:
        decoded = [drop_soft_hyphens(text.decode("utf-8", "replace")) for text in texts]
        return require_finite(self.encoder.encode(decoded, "document"), self.encoder) @ question
