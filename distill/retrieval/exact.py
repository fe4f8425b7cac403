"""Scores and ranks: the units that are nearest to each question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import InputError
from ..system.types import Floats, Integers
from .blocks import COLUMNS, ROWS, WHOLE, Highest, Product, document_spans, rows_beside, spans

# Pairs (query, row), two arrays of equal length, that may not be returned.
Forbidden: TypeAlias = tuple[Integers, Integers]


def max_passage(scores: Floats, document_of: Integers) -> Floats:
    """Return MaxP scores, `(q, documents)`, each document's best passage, of scores `(q, passages)`.

    `document_of`, int `(passages,)`, is ascending.
    """
    starts = np.flatnonzero(np.diff(document_of, prepend=-1))
    return np.maximum.reduceat(scores, starts, axis=1)


def ranks(scores: Floats, gold: Integers) -> Integers:
    """Return the rank, from 1, of each row's gold column, int `(q,)`.

    Ties, and scores that are no number, count against it.
    """
    right = np.take_along_axis(scores, gold[:, None], axis=1)
    return (~(scores < right)).sum(axis=1)


def require_alike(queries: Floats, corpus: Floats) -> None:
    """Raise `InputError` for vectors of two spaces."""
    if queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"queries of {queries.shape[1]} dimensions, a corpus of {corpus.shape[1]}; encode both with one encoder"
        )


@dataclass(frozen=True)
class Candidates:
    """Candidates, by the vectors `(n, d)` that they are scored by: unit rows, memory-mapped or not.

    Without `part_of` each vector is a candidate. With it, int `(n,)`, ascending from 0 without a gap, a candidate
    scores as the best of its parts, such as the sentences of a passage. With `wholes` `(m, d)` the score of a part's
    whole is added to that of its best part; then with `document_of`, int `(m,)`, candidates are documents, each as its
    best whole.
    """

    vectors: Floats
    part_of: Integers | None = None
    wholes: Floats | None = None
    document_of: Integers | None = None

    @property
    def candidate_of(self) -> Integers | None:
        """int `(n,)`: the candidate of each vector, None where each is one."""
        if self.part_of is None or self.document_of is None:
            return self.part_of
        return self.document_of[self.part_of]

    def spans(self, columns: int) -> list[slice]:
        """Slices of the vectors of whole candidates: `columns` at most, or one candidate that has more of them."""
        candidate_of = self.candidate_of
        return spans(len(self.vectors), columns) if candidate_of is None else document_spans(candidate_of, columns)

    def scores(self, questions: Floats, block: slice, product: Product) -> Floats:
        """Scores `(q, c)` of the candidates whose vectors `block` has; `product` may hold them."""
        scores = product(questions, self.vectors[block])
        if self.part_of is None:
            return scores
        parts = self.part_of[block]
        scores = max_passage(scores, parts)
        if self.wholes is None or not len(parts):
            return scores
        rows = slice(int(parts[0]), int(parts[-1]) + 1)
        # The best parts are held apart from the product, whose place these take.
        scores += product(questions, self.wholes[rows])
        return scores if self.document_of is None else max_passage(scores, self.document_of[rows])


def candidate_ranks(
    questions: Floats,
    candidates: Candidates,
    target: Integers,
    block: int = ROWS,
    whole: int = WHOLE,
    columns: int = COLUMNS,
) -> Integers:
    """Return the rank, from 1, of each question's candidate `target`, int `(q,)` both; ties count against it.

    `questions` `(q, d)` are unit rows, memory-mapped or not. Works on `block` questions at once, and where these have
    more than `whole` scores on `columns` vectors at once too.
    """
    require_alike(questions, candidates.vectors)
    many = len(candidates.vectors)
    if min(block, len(questions)) * many > whole:
        return _ranks_in_blocks(questions, candidates, target, block, columns)
    places, product = np.empty(len(questions), dtype=np.int64), Product()
    for rows in spans(len(questions), block):
        places[rows] = ranks(candidates.scores(questions[rows], slice(0, many), product), target[rows])
    return places


def _ranks_in_blocks(questions, candidates, target, block, columns):
    scored = Scored(candidates, columns)
    places = np.zeros(len(questions), dtype=np.int64)
    # By their targets, so that those of a block of questions are in few blocks of the corpus.
    order, many = np.argsort(target, kind="stable"), min(block, rows_beside(scored.blocks, block * columns))
    for rows in (order[part] for part in spans(len(order), many)):
        block_of = questions[rows]
        right = scored.right(block_of, target[rows])
        for number in range(len(scored.blocks)):
            scores = scored(block_of, number)
            places[rows] += scores.shape[1] - np.count_nonzero(scores < right, axis=1)
    return places


class Scored:
    """Scores of questions and a block of `candidates`, of at most `columns` vectors or one candidate."""

    def __init__(self, candidates: Candidates, columns: int) -> None:
        self.candidates, self.product, self.blocks = candidates, Product(), candidates.spans(columns)
        first, candidate_of = np.array([block.start for block in self.blocks]), candidates.candidate_of
        self.starts = first if candidate_of is None else candidate_of[first]

    def __call__(self, questions: Floats, number: int) -> Floats:
        """Scores `(q, columns)` of the block of that number, held until the next call."""
        return self.candidates.scores(questions, self.blocks[number], self.product)

    def right(self, questions: Floats, target: Integers) -> Floats:
        """Return each question's score of its target, `(q, 1)`.

        Out of whole blocks: the same product in another shape could differ in the last bit from what it is compared to.
        """
        home = np.searchsorted(self.starts, target, "right") - 1
        scores = np.empty((len(target), 1), dtype=np.result_type(questions, self.candidates.vectors))
        for number in np.unique(home):
            at = np.flatnonzero(home == number)
            scores[at, 0] = self(questions, number)[at, target[at] - self.starts[number]]
        return scores


def top_k(
    queries: Floats,
    corpus: Floats,
    k: int,
    forbidden: Forbidden | None = None,
    block: tuple[int, int] = (ROWS, COLUMNS),
) -> tuple[Integers, Floats]:
    """Return each query's `k` most similar rows of `corpus`: (indices `(q, k)`, similarities `(q, k)`), best first.

    `forbidden` is a pair of int arrays (query, row) that may not be returned. Memory is bounded by `block`
    (queries x corpus rows at once), not by queries x corpus, either of which may be memory-mapped; what is missing
    has similarity -inf and index -1. Equal similarities go to the lower index.
    """
    require_alike(queries, corpus)
    bounds, product = by_query(forbidden, len(queries)), Product()
    indices = np.empty((len(queries), k), dtype=np.int64)
    values = np.empty((len(queries), k), dtype=np.float32)
    for rows in spans(len(queries), block[0]):
        best = Highest(rows.stop - rows.start, k)
        for part in spans(len(corpus), block[1]):
            scores = product(queries[rows], corpus[part])
            _forbid(scores, bounds, rows, part.start)
            best.add(scores, _indices_from(part.start))
        indices[rows], values[rows] = best.indices, best.values
    return indices, values


def _indices_from(first):
    return lambda _, column: first + column


def by_query(forbidden: Forbidden | None, n: int) -> Forbidden:
    """Return (bounds `(n + 1,)`, rows): those forbidden for query i stand from `bounds[i]` to `bounds[i + 1]`."""
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
