"""Exact search: scores and ranks of the units that are nearest to each question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import InputError
from ..export.encode import shares
from ..system.types import Floats, Integers
from .blocks import COLUMNS, ROWS, WHOLE, Product, TopScores, document_spans, questions_per_block, spans

# Two arrays of equal length: the query and the row of each pair.
Pairs: TypeAlias = tuple[Integers, Integers]
# Those that may not be returned.
Forbidden: TypeAlias = Pairs
# A product may give equal rows scores that differ in their last bits, by their places in it.
ROUNDING = 1e-6


def max_passage(scores: Floats, document_of: Integers) -> Floats:
    """Return MaxP scores `(q, documents)`: that of each document's best passage, by the document of each, ascending."""
    starts = np.flatnonzero(np.diff(document_of, prepend=-1))
    return np.maximum.reduceat(scores, starts, axis=1)


def ranks(scores: Floats, gold: Integers, right: Pairs | None = None) -> Integers:
    """Return the rank, from 1, of each row's best right column, gold or of `right`; ties and NaN count against it.

    Scores within `ROUNDING` of each other are ties. A right column does not count against another one.
    """
    right = right or (np.arange(len(gold)), gold)
    of_right = scores[right]
    best = _best_scores(right, of_right, len(gold))
    return (~(scores < best - ROUNDING)).sum(axis=1) - _count_surplus(right, of_right, best)


def _best_scores(right, scores, count):
    """Return the best score `(q, 1)` of each question's right candidates, NaN if one is NaN."""
    best = np.full(count, -np.inf, dtype=scores.dtype)
    with np.errstate(invalid="ignore"):
        np.maximum.at(best, right[0], scores)
    return best[:, None]


def _count_surplus(right, scores, best):
    """Return how many of each question's right candidates are not below the best of them, without that one."""
    tied = ~(scores < best[right[0], 0] - ROUNDING)
    return np.bincount(right[0][tied], minlength=len(best)) - 1


def require_same_dimension(queries: Floats, corpus: Floats) -> None:
    """Raise `InputError` if queries and corpus differ in dimension."""
    if queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"queries of {queries.shape[1]} dimensions, a corpus of {corpus.shape[1]}; encode both with one encoder"
        )


@dataclass(frozen=True)
class Candidates:
    """Candidates of a search, by the vectors that they are scored by.

    Without `part_of` each vector is a candidate. With it a candidate scores as the best of its parts, such as the
    sentences of a passage. With `wholes` the score of a part's whole is added to that of its best part, by the `shares`
    of a weight. With `document_of` too, candidates are documents, each scored as its best whole.

    Attributes:
        vectors: Unit rows `(n, d)`, memory-mapped or not.
        part_of: Ascending integer array `(n,)` from 0 without a gap, the whole of each vector.
        wholes: Unit rows `(m, d)`.
        document_of: Ascending integer array `(m,)`, the document of each whole.
        weight: The weight of a whole beside its best part.
    """

    vectors: Floats
    part_of: Integers | None = None
    wholes: Floats | None = None
    document_of: Integers | None = None
    weight: float = 1.0

    @property
    def candidate_of(self) -> Integers | None:
        """Return the candidate of each vector as an integer array `(n,)`; None if each vector is one."""
        if self.part_of is None or self.document_of is None:
            return self.part_of
        return self.document_of[self.part_of]

    def spans(self, columns: int) -> list[slice]:
        """Return slices of whole candidates, of at most `columns` vectors unless one candidate has more."""
        candidate_of = self.candidate_of
        return spans(len(self.vectors), columns) if candidate_of is None else document_spans(candidate_of, columns)

    def scores(self, questions: Floats, block: slice, product: Product) -> Floats:
        """Return the scores of the candidates in a block of vectors: a float array `(q, c)`."""
        scores = product(questions, self.vectors[block])
        if self.part_of is None:
            return scores
        parts = self.part_of[block]
        scores = max_passage(scores, parts)
        if self.wholes is None or not len(parts):
            return scores
        rows = slice(int(parts[0]), int(parts[-1]) + 1)
        # The best parts are in memory of their own, so the product's memory can be reused for the wholes.
        scores = self._add(scores, product(questions, self.wholes[rows]))
        return scores if self.document_of is None else max_passage(scores, self.document_of[rows])

    def _add(self, parts: Floats, wholes: Floats) -> Floats:
        """Return the scores of wholes and their best parts together. Both arrays may be changed."""
        if self.weight != 1:
            of_whole, of_part = shares(self.weight)
            wholes *= of_whole
            parts *= of_part
        parts += wholes
        return parts


def candidate_ranks(
    questions: Floats,
    candidates: Candidates,
    target: Integers,
    block: int = ROWS,
    whole: int = WHOLE,
    columns: int = COLUMNS,
    right: Pairs | None = None,
) -> Integers:
    """Return the rank, from 1, of each question's best right candidate; ties with wrong ones count against it.

    Returns an integer array `(q,)`. Raises `InputError` if questions and candidates differ in dimension.

    Args:
        target: Integer array `(q,)`, the right candidate of each question.
        whole: Number of scores up to which a block of questions is scored against all vectors at once.
        columns: Number of vectors that are scored at once beyond that.
        right: All right candidates, the targets among them, by question; None for the targets alone.
    """
    require_same_dimension(questions, candidates.vectors)
    right, count = right or (np.arange(len(target)), target), len(candidates.vectors)
    if min(block, len(questions)) * count > whole:
        return _ranks_in_blocks(questions, candidates, target, block, columns, right)
    places, product = np.empty(len(questions), dtype=np.int64), Product()
    for rows in spans(len(questions), block):
        scores = candidates.scores(questions[rows], slice(0, count), product)
        places[rows] = ranks(scores, target[rows], _right_of(right, np.arange(rows.start, rows.stop)))
    return places


def _right_of(right, rows):
    """Return the pairs of some questions, with the places of these."""
    places = np.full(max(rows, default=0) + 1, -1)
    places[rows] = np.arange(len(rows))
    known = right[0] < len(places)
    there = np.flatnonzero(known)[places[right[0][known]] >= 0]
    return places[right[0][there]], right[1][there]


def _ranks_in_blocks(questions, candidates, target, block, columns, right):
    scored = BlockScorer(candidates, columns)
    places = np.zeros(len(questions), dtype=np.int64)
    # Questions are ordered by their targets, so that a block of them has its targets in few blocks of the corpus.
    order, count = np.argsort(target, kind="stable"), min(block, questions_per_block(scored.blocks, block * columns))
    for rows in (order[part] for part in spans(len(order), count)):
        block_of, of_rows = questions[rows], _right_of(right, rows)
        of_right = scored.right(block_of, of_rows)
        best = _best_scores(of_rows, of_right, len(rows))
        places[rows] -= _count_surplus(of_rows, of_right, best)
        for number in range(len(scored.blocks)):
            scores = scored(block_of, number)
            places[rows] += scores.shape[1] - np.count_nonzero(scores < best - ROUNDING, axis=1)
    return places


class BlockScorer:
    """Scores of questions and one block of candidates at a time."""

    def __init__(self, candidates: Candidates, columns: int) -> None:
        self.candidates, self.product, self.blocks = candidates, Product(), candidates.spans(columns)
        first, candidate_of = np.array([block.start for block in self.blocks]), candidates.candidate_of
        self.starts = first if candidate_of is None else candidate_of[first]

    def __call__(self, questions: Floats, number: int) -> Floats:
        """Return the scores `(q, columns)` of a block, which are held until the next call."""
        return self.candidates.scores(questions, self.blocks[number], self.product)

    def right(self, questions: Floats, pairs: Pairs) -> Floats:
        """Return the scores of pairs: a float array `(p,)`.

        The scores are taken from whole blocks, as the same product in another shape could differ in the last bit from
        the scores that it is compared to.
        """
        of, target = pairs
        home = np.searchsorted(self.starts, target, "right") - 1
        scores = np.empty(len(target), dtype=np.result_type(questions, self.candidates.vectors))
        for number in np.unique(home):
            at = np.flatnonzero(home == number)
            scores[at] = self(questions, number)[of[at], target[at] - self.starts[number]]
        return scores


def top_k(
    queries: Floats,
    corpus: Floats,
    k: int,
    forbidden: Forbidden | None = None,
    block: tuple[int, int] = (ROWS, COLUMNS),
) -> tuple[Integers, Floats]:
    """Return each query's most similar rows of a corpus, best first.

    Memory is bounded by `block`, not by queries x corpus, either of which may be memory-mapped. Equal similarities go
    to the lower index. Returns indices, integer `(q, k)`, and similarities, float32 `(q, k)`. Missing rows have the
    index -1 and the similarity -inf. Raises `InputError` if queries and corpus differ in dimension.

    Args:
        queries: Unit rows `(q, d)`.
        corpus: Unit rows `(n, d)`.
        forbidden: Two integer arrays, the query and the row of each pair that may not be returned.
    """
    require_same_dimension(queries, corpus)
    bounds, product = group_by_query(forbidden, len(queries)), Product()
    indices = np.empty((len(queries), k), dtype=np.int64)
    values = np.empty((len(queries), k), dtype=np.float32)
    for rows in spans(len(queries), block[0]):
        best = TopScores(rows.stop - rows.start, k)
        for part in spans(len(corpus), block[1]):
            scores = product(queries[rows], corpus[part])
            _forbid(scores, bounds, rows, part.start)
            best.add(scores, _indices_from(part.start))
        indices[rows], values[rows] = best.indices, best.values
    return indices, values


def _indices_from(first):
    return lambda _, column: first + column


def group_by_query(forbidden: Forbidden | None, n: int) -> Forbidden:
    """Group forbidden pairs by query: those of query i are `rows[bounds[i]:bounds[i + 1]]`."""
    if forbidden is None:
        return np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    query, row = (np.asarray(part, dtype=np.int64) for part in forbidden)
    order = np.argsort(query, kind="stable")
    return np.searchsorted(query[order], np.arange(n + 1)), row[order]


def _forbid(scores, by_queries, rows, first):
    bounds, columns = by_queries
    part = columns[bounds[rows.start] : bounds[rows.stop]] - first
    query = np.repeat(np.arange(rows.stop - rows.start), np.diff(bounds[rows.start : rows.stop + 1]))
    inside = (part >= 0) & (part < scores.shape[1])
    scores[query[inside], part[inside]] = -np.inf
