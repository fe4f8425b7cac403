"""Scores and ranks: which unit is nearest to each question."""

import numpy as np

# Rows of a score matrix held at once.
BLOCK = 1024


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


def unit_ranks(questions, vectors, gold, document_of, unit, block=BLOCK):
    """int `(q,)`: rank of the right unit for each question.

    `questions` `(q, d)` and `vectors` (`(documents, d)` for the unit document, else `(passages, d)`) are unit
    rows; `gold` is the answer's passage index. Works on `block` questions at once.
    """
    target = gold if unit == "passage" else document_of[gold]
    found = np.empty(len(questions), dtype=np.int64)
    for start in range(0, len(questions), block):
        rows = slice(start, start + block)
        scores = questions[rows] @ vectors.T
        found[rows] = ranks(max_passage(scores, document_of) if unit == "maxp" else scores, target[rows])
    return found


def top_k(queries, corpus, k, forbidden=None, block=(1024, 16384)):
    """The `k` most similar rows of `corpus` for each query: (indices `(q, k)`, similarities `(q, k)`), best first.

    `forbidden` is a pair of int arrays (query, row) that may not be returned. Memory is bounded by `block`
    (queries x corpus rows at once), not by queries x corpus; what is missing has similarity -inf and index -1.
    Equal similarities go to the lower index.
    """
    forbidden = _by_query(forbidden, len(queries))
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    values = np.full((len(queries), k), -np.inf, dtype=np.float32)
    for start in range(0, len(queries), block[0]):
        rows = slice(start, min(start + block[0], len(queries)))
        for first in range(0, len(corpus), block[1]):
            scores = queries[rows] @ corpus[first : first + block[1]].T
            _forbid(scores, forbidden, rows, first)
            indices[rows], values[rows] = _merge(indices[rows], values[rows], scores, first, k)
    return indices, values


def _by_query(forbidden, n):
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


def _merge(indices, values, scores, first, k):
    """The best `k` of those held and a block's; -inf is never an index."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    all_values = np.concatenate([values, np.take_along_axis(scores, best, axis=1)], axis=1)
    all_indices = np.concatenate([indices, best + first], axis=1)
    order = np.argsort(-all_values, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(all_values, order, axis=1)
    return np.where(np.isfinite(values), np.take_along_axis(all_indices, order, axis=1), -1), values
