"""Mine negatives for the triplet loss: lexical ones (BM25) first, then those that the encoder itself confuses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ...data.dataset import Question, normalise
from ...errors import DataError
from ...retrieval.blocks import (
    CELLS,
    COLUMNS,
    ROWS,
    Product,
    TopScores,
    document_spans,
    questions_per_block,
    spans,
    top_places,
)
from ...retrieval.bm25 import build_bm25_index
from ...retrieval.exact import max_passage, top_k
from ...system.types import Floats, Integers

# Pairs (question, passage) that may not be negatives; the questions ascend.
Forbidden: TypeAlias = tuple[Integers, Integers]
# A negative is drawn from this many times the wanted number of the hardest candidates.
POOL = 4
# Questions at a time below which a product is slow: the passages are cut into blocks then.
FEW = 64


def find_false_negatives(
    questions: Sequence[Question], document_of: Integers, first_of: Integers | None = None
) -> Forbidden:
    """Find the pairs of a question and a passage that may not be negatives.

    They are all passages of the question's own document, of the document of any question with the same text, and of
    documents that hold a copy of its passage. `document_of` is the document of each passage, ascending, int
    `(passages,)`, and `first_of` the first copy of each, by default itself. Returns the rows of the questions and of
    the passages, two int arrays.
    """
    first_of = np.arange(len(document_of)) if first_of is None else first_of
    keys, documents, holding = [normalise(question.text) for question in questions], {}, {}
    for first, document in zip(first_of.tolist(), document_of.tolist(), strict=True):
        holding.setdefault(first, set()).add(document)
    for key, question in zip(keys, questions, strict=True):
        documents.setdefault(key, set()).update(holding[int(first_of[question.passage])])
    pairs = [
        (row, passage)
        for row, key in enumerate(keys)
        for document in sorted(documents[key])
        for passage in range(*np.searchsorted(document_of, [document, document + 1]))
    ]
    rows, passages = zip(*pairs, strict=True)
    return np.array(rows), np.array(passages)


def find_bm25_candidates(
    queries: Sequence[str],
    passages: Sequence[str],
    forbidden: Forbidden,
    n: int,
    language: str | Sequence[str] = "en",
    words: str = "plain",
) -> Integers:
    """Find passages that share most words with a query but do not answer it.

    The candidates do not depend on the encoder: they are computed once, and `draw_negatives` takes `n` of them in each
    epoch. Karpukhin et al. (2020), section 3.2; CL-ReLKT, section 3.1. `words` are the words that are compared, a key
    of `bm25.TERMS`. Returns the rows of the passages, int `(queries, POOL * n)`, best first, -1 for none.
    """
    try:
        index = build_bm25_index(passages, [language] * len(passages) if isinstance(language, str) else language, words)
    except DataError as error:
        raise DataError(f"{error}, or train without BM25's negatives: use --bm25-epochs 0") from error
    candidates = np.full((len(queries), POOL * n), -1, dtype=np.int64)
    blocked = _sets(forbidden, len(queries))
    for row, scores in enumerate(index.scores(queries)):
        order = top_places(scores, POOL * n + len(blocked[row]))
        allowed = [passage for passage in order if passage not in blocked[row]][: POOL * n]
        candidates[row, : len(allowed)] = allowed
    return candidates


def _sets(forbidden, n):
    sets = [set() for _ in range(n)]
    for row, passage in zip(*forbidden, strict=True):
        sets[row].add(int(passage))
    return sets


def mine_online_negatives(
    questions: Floats,
    passages: Floats,
    gold: Integers,
    forbidden: Forbidden,
    n: int,
    margin: float,
    seed: int = 0,
    block: tuple[int, int] = (ROWS, COLUMNS),
) -> Integers:
    """Mine hard and semi-hard negatives by the current encoder. CL-ReLKT, section 3.1; Kaya and Bilge (2019), section
    3.

    A hard negative is nearer than the positive. A semi-hard one is farther, but within the margin: d(a, p) <= d(a, n) <
    d(a, p) + margin. Returns the rows of the negatives, int `(q, n)`, -1 for none.

    Args:
        n: The number of negatives per question, drawn from the `POOL * n` hardest.
        block: The size of the blocks that bound memory, as in `exact.top_k`.
    """
    candidates, similarity = top_k(questions, passages, POOL * n, forbidden, block)
    for rows in spans(len(questions), ROWS):
        positive = np.sum(questions[rows] * passages[gold[rows]], axis=1, keepdims=True)
        candidates[rows][similarity[rows] <= positive - margin] = -1
    return draw_negatives(candidates, n, seed)


def mine_quota_negatives(
    questions: Floats,
    passages: Floats,
    gold: Integers,
    forbidden: Forbidden,
    quotas: tuple[int, int],
    margin: float,
    cells: int = CELLS,
) -> Integers:
    """Mine the nearest hard negatives and the nearest semi-hard ones, as CL-ReLKT's code does; nothing is drawn.

    Hard: d(a, n) < d(a, p). Semi-hard: d(a, p) <= d(a, n) < d(a, p) + margin. Kaya and Bilge (2019), section 3.
    `questions` are the unit vectors of the questions `(q, d)`. `cells` is the number of scores that are computed at a
    time. Returns the rows of the negatives, int `(q, n)`, hard ones first, -1 for none.
    """
    blocks, product = spans(len(passages), max(1, cells // ROWS)), Product()
    negatives = np.empty((len(questions), sum(quotas)), dtype=np.int64)
    for rows in spans(len(questions), ROWS):
        positive = np.sum(questions[rows] * passages[gold[rows]], axis=1, keepdims=True)
        of_kind = [TopScores(len(positive), quota) for quota in quotas]
        inside = (forbidden[0] >= rows.start) & (forbidden[0] < rows.stop)
        row, column = forbidden[0][inside] - rows.start, forbidden[1][inside]
        for block in blocks:
            scores = product(questions[rows], passages[block])
            at = (column >= block.start) & (column < block.stop)
            scores[row[at], column[at] - block.start] = -np.inf
            is_hard = scores > positive
            for highest, chosen in zip(of_kind, (is_hard, ~is_hard & (scores > positive - margin)), strict=True):
                highest.add(np.where(chosen, scores, -np.inf), partial(_behind, block.start))
        negatives[rows] = np.concatenate([highest.indices for highest in of_kind], axis=1)
    return negatives


def _behind(start, _, column):
    return start + column


def select_pairs(forbidden: Forbidden, rows: Integers) -> Forbidden:
    """Select the forbidden pairs of some questions, and number these anew; the first array of `forbidden` ascends."""
    first, last = (np.searchsorted(forbidden[0], rows, side) for side in ("left", "right"))
    places = [np.arange(*ends) for ends in zip(first, last, strict=True)]
    return np.repeat(np.arange(len(rows)), last - first), forbidden[1][np.concatenate(places)]


def mine_maxp_candidates(
    questions: Floats,
    passages: Floats,
    document_of: Integers,
    gold: Integers,
    forbidden: Forbidden,
    n: int,
    margin: float,
    cells: int = CELLS,
) -> tuple[Integers, Integers]:
    """Mine positives and negatives if a document's score is that of its best passage (MaxP; Dai and Callan, 2019).

    The triplet loss of a question a about document D against D' is then

        max(min_{p in D} d(a, p) - min_{p' in D'} d(a, p') + margin, 0).

    The positive is therefore the passage of the gold document that is nearest under the current encoder, and each other
    document has one candidate, its nearest passage. Hard and semi-hard documents are those with d(a, p') < d(a, p) +
    margin; `draw_negatives` takes `n` of them. A document with a forbidden passage has no candidate. Of equal passages
    the one with the lower row is taken. The choice depends on the vectors, like that of the positive of a bag in MI-SVM
    (Andrews et al., 2003). `document_of` is the document of each passage, ascending, int `(p,)`. `gold` are the rows of
    the gold passages, int `(q,)`. Returns the rows of the positives, int `(q,)`, and of the hardest negatives, int `(q,
    POOL * n)`, -1 for none.
    """
    columns = len(passages) if cells // len(passages) >= FEW else max(1, cells // ROWS)
    blocks, product = document_spans(document_of, columns), Product()
    positives = np.empty(len(questions), dtype=np.int64)
    candidates = np.empty((len(questions), POOL * n), dtype=np.int64)
    for rows in spans(len(questions), questions_per_block(blocks, cells)):
        highest, answering = TopScores(rows.stop - rows.start, POOL * n), document_of[gold[rows]]
        inside = (forbidden[0] >= rows.start) & (forbidden[0] < rows.stop)
        closed = forbidden[0][inside] - rows.start, document_of[forbidden[1][inside]]
        positive = np.empty((len(answering), 1), dtype=np.result_type(questions, passages))
        for block in blocks:
            documents = DocumentScores(product(questions[rows], passages[block]), document_of, block)
            at, places = documents.find(answering)
            positive[at, 0], positives[rows][at] = documents.best[at, places], documents.passages(at, places)
            documents.close(*closed)
            highest.add(documents.best, documents.passages)
        candidates[rows] = np.where(highest.values > positive - margin, highest.indices, -1)
    return positives, candidates


class DocumentScores:
    """The scores `(q, passages)` of a `block` of passages, and `best`, `(q, documents)`, each document's best score."""

    def __init__(self, scores: Floats, document_of: Integers, block: slice):
        inside = document_of[block]
        self.scores, self.start, self.first, self.best = scores, block.start, inside[0], max_passage(scores, inside)
        self.edges = np.append(np.flatnonzero(np.diff(inside, prepend=-1)), len(inside))

    def find(self, documents: Integers) -> tuple[Integers, Integers]:
        """Return the places of the documents that are in the block, and their columns."""
        columns = documents - self.first
        at = np.flatnonzero((columns >= 0) & (columns < self.best.shape[1]))
        return at, columns[at]

    def close(self, rows: Integers, documents: Integers) -> None:
        """Remove the scores of pairs of a question and a document."""
        at, columns = self.find(documents)
        self.best[rows[at], columns] = -np.inf

    def passages(self, rows: Integers, columns: Integers) -> Integers:
        """Return the first passage that has the best score of a document."""
        counts = self.edges[columns + 1] - self.edges[columns]
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(self.edges[columns] - starts, counts)
        is_best = self.scores[np.repeat(rows, counts), places] == np.repeat(self.best[rows, columns], counts)
        return self.start + np.minimum.reduceat(np.where(is_best, places, self.scores.shape[1]), starts)


def draw_negatives(candidates: Integers, n: int, seed: int) -> Integers:
    """Draw negatives from each row's candidates, without repetition and in random order.

    `candidates` are the candidates, int `(q, k)`; those below 0 are none. Returns the negatives, int `(q, n)`, -1 for
    none.
    """
    keys = np.random.default_rng(seed).random(candidates.shape)
    keys[candidates < 0] = 2.0
    return np.take_along_axis(candidates, np.argsort(keys, axis=1, kind="stable")[:, :n], axis=1)
