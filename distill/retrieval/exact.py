"""Scores and ranks: which unit is nearest to each question."""

import numpy as np

from ..errors import InputError
from .blocks import COLUMNS, ROWS, WHOLE, Highest, Product, document_spans, rows_beside, spans


def max_passage(scores, document_of):
    """MaxP: `(q, passages)` scores -> `(q, documents)`, each document as its best passage.

    `document_of`, int `(passages,)`, is ascending.
    """
    starts = np.flatnonzero(np.diff(document_of, prepend=-1))
    return np.maximum.reduceat(scores, starts, axis=1)


def ranks(scores, gold):
    """int `(q,)`: the rank, from 1, of each row's gold column. Ties, and scores that are no number, count against."""
    own = np.take_along_axis(scores, gold[:, None], axis=1)
    return (~(scores < own)).sum(axis=1)


def require_alike(queries, corpus):
    """Raise `InputError` for vectors of two spaces."""
    if queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"queries of {queries.shape[1]} dimensions, a corpus of {corpus.shape[1]}; encode both with one encoder"
        )


def unit_ranks(questions, vectors, gold, document_of, unit, block=ROWS, whole=WHOLE, columns=COLUMNS):
    """int `(q,)`: rank of the right unit for each question.

    `questions` `(q, d)` and `vectors` (`(documents, d)` for the unit document, else `(passages, d)`) are unit
    rows, memory-mapped or not; `gold` is the answer's passage index. Works on `block` questions at once, and where
    these have more than `whole` scores on `columns` vectors at once too.
    """
    require_alike(questions, vectors)
    target = gold if unit == "passage" else document_of[gold]
    if min(block, len(questions)) * len(vectors) > whole:
        return _ranks_in_blocks(questions, vectors, target, document_of if unit == "maxp" else None, block, columns)
    found = np.empty(len(questions), dtype=np.int64)
    for start in range(0, len(questions), block):
        rows = slice(start, start + block)
        scores = questions[rows] @ vectors.T
        found[rows] = ranks(max_passage(scores, document_of) if unit == "maxp" else scores, target[rows])
    return found


def _ranks_in_blocks(questions, vectors, target, document_of, block, columns):
    """As `unit_ranks`; `target`, int `(q,)`, is of vectors, or of documents where `document_of` is given."""
    scored = Scored(vectors, document_of, columns)
    found = np.zeros(len(questions), dtype=np.int64)
    # By their targets, so that those of a block of questions are in few blocks of the corpus.
    order, many = np.argsort(target, kind="stable"), min(block, rows_beside(scored.blocks, block * columns))
    for rows in (order[part] for part in spans(len(order), many)):
        asked = questions[rows]
        own = scored.own(asked, target[rows])
        for number in range(len(scored.blocks)):
            scores = scored(asked, number)
            found[rows] += scores.shape[1] - np.count_nonzero(scores < own, axis=1)
    return found


class Scored:
    """Scores of questions and a block of `vectors`, or of its documents where `document_of` is given."""

    def __init__(self, vectors, document_of, columns):
        self.vectors, self.document_of, self.product = vectors, document_of, Product()
        self.blocks = spans(len(vectors), columns) if document_of is None else document_spans(document_of, columns)
        first = np.array([block.start for block in self.blocks])
        self.starts = first if document_of is None else document_of[first]

    def __call__(self, questions, number):
        block = self.blocks[number]
        scores = self.product(questions, self.vectors[block])
        return scores if self.document_of is None else max_passage(scores, self.document_of[block])

    def own(self, questions, target):
        """`(q, 1)`: each question's score of its target.

        Out of whole blocks: the same product in another shape could differ in the last bit from what it is compared to.
        """
        home = np.searchsorted(self.starts, target, "right") - 1
        found = np.empty((len(target), 1), dtype=np.result_type(questions, self.vectors))
        for number in np.unique(home):
            at = np.flatnonzero(home == number)
            found[at, 0] = self(questions, number)[at, target[at] - self.starts[number]]
        return found


def top_k(queries, corpus, k, forbidden=None, block=(ROWS, COLUMNS)):
    """The `k` most similar rows of `corpus` for each query: (indices `(q, k)`, similarities `(q, k)`), best first.

    `forbidden` is a pair of int arrays (query, row) that may not be returned. Memory is bounded by `block`
    (queries x corpus rows at once), not by queries x corpus, either of which may be memory-mapped; what is missing
    has similarity -inf and index -1. Equal similarities go to the lower index.
    """
    require_alike(queries, corpus)
    forbidden, product = by_query(forbidden, len(queries)), Product()
    indices = np.empty((len(queries), k), dtype=np.int64)
    values = np.empty((len(queries), k), dtype=np.float32)
    for rows in spans(len(queries), block[0]):
        best = Highest(rows.stop - rows.start, k)
        for part in spans(len(corpus), block[1]):
            scores = product(queries[rows], corpus[part])
            _forbid(scores, forbidden, rows, part.start)
            best.add(scores, lambda _, column, first=part.start: first + column)
        indices[rows], values[rows] = best.indices, best.values
    return indices, values


def by_query(forbidden, n):
    """`forbidden` by queries: those of query i are the second array's from the first's i-th to its next number."""
    if forbidden is None:
        return np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    query, row = (np.asarray(part, dtype=np.int64) for part in forbidden)
    order = np.argsort(query, kind="stable")
    return np.searchsorted(query[order], np.arange(n + 1)), row[order]


def _forbid(scores, forbidden, rows, first):
    bounds, columns = forbidden
    part = columns[bounds[rows.start] : bounds[rows.stop]] - first
    query = np.repeat(np.arange(rows.stop - rows.start), np.diff(bounds[rows.start : rows.stop + 1]))
    inside = (part >= 0) & (part < scores.shape[1])
    scores[query[inside], part[inside]] = -np.inf
