"""Negatives for the triplet loss: lexical ones first (BM25), then those that the encoder itself confuses."""

import unicodedata

import numpy as np

from .errors import DataError
from .lexical import Lexical
from .retrieval import max_passage, top_k

# A negative is drawn from this many times the wanted number of the hardest candidates.
POOL = 4
# Scores that are held at once where all passages of a document have to be seen together.
CELLS = 2**24


def false_negatives(questions, document_of):
    """Pairs (question, passage) that may not be negatives, as two int arrays.

    For each question: every passage of its own document, and of the document of any question with the same text.
    `document_of`, int `(passages,)`, is ascending.
    """
    keys, documents = [normalise(question.text) for question in questions], {}
    for key, question in zip(keys, questions, strict=True):
        documents.setdefault(key, set()).add(int(document_of[question.passage]))
    pairs = [
        (row, passage)
        for row, key in enumerate(keys)
        for document in sorted(documents[key])
        for passage in range(*np.searchsorted(document_of, [document, document + 1]))
    ]
    rows, passages = zip(*pairs, strict=True)
    return np.array(rows), np.array(passages)


def normalise(text):
    """The form in which two questions count as identical."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bm25_candidates(queries, passages, forbidden, n, language="en", words="plain"):
    """int `(queries, POOL * n)`: passages that share most words with the query but do not answer it, best first.

    -1 where none is left. They do not depend on the encoder: computed once, `draw` takes `n` of them each epoch.
    `language` is that of the passages; `words` says what is compared, a key of `lexical.TERMS`. Karpukhin et al.
    (2020), section 3.2; CL-ReLKT, section 3.1. Raises `DataError` for passages without words.
    """
    try:
        index = Lexical(passages, language, words)
    except DataError as error:
        raise DataError(f"{error}, or train without BM25's negatives: use --bm25-epochs 0") from error
    candidates = np.full((len(queries), POOL * n), -1, dtype=np.int64)
    blocked = _sets(forbidden, len(queries))
    for row, scores in enumerate(index.scores(queries)):
        order = np.argsort(-scores, kind="stable")[: POOL * n + len(blocked[row])]
        allowed = [passage for passage in order if passage not in blocked[row]][: POOL * n]
        candidates[row, : len(allowed)] = allowed
    return candidates


def _sets(forbidden, n):
    sets = [set() for _ in range(n)]
    for row, passage in zip(*forbidden, strict=True):
        sets[row].add(int(passage))
    return sets


def online_negatives(questions, passages, gold, forbidden, n, margin, seed=0, block=(1024, 16384)):
    """int `(q, n)`: hard and semi-hard negatives under the current encoder, -1 where there are fewer.

    Hard: nearer than the positive. Semi-hard: farther, but within the margin, d(a, p) <= d(a, n) < d(a, p) + margin.
    `questions` `(q, d)`, `passages` `(p, d)` unit rows; `gold` int `(q,)`. Drawn with `seed` from the `POOL * n`
    hardest; memory is bounded by `block`. CL-ReLKT, section 3.1; Kaya and Bilge (2019), section 3.
    """
    candidates, similarity = top_k(questions, passages, POOL * n, forbidden, block)
    positive = np.sum(questions * passages[gold], axis=1, keepdims=True)
    candidates[similarity <= positive - margin] = -1
    return draw(candidates, n, seed)


def pairs_of(forbidden, rows):
    """`forbidden`, whose first array is ascending, of the questions `rows` alone, numbered as these are."""
    first, last = (np.searchsorted(forbidden[0], rows, side) for side in ("left", "right"))
    places = [np.arange(*ends) for ends in zip(first, last, strict=True)]
    return np.repeat(np.arange(len(rows)), last - first), forbidden[1][np.concatenate(places)]


def maxp_triplets(questions, passages, document_of, gold, forbidden, n, margin, seed=0, cells=CELLS):
    """Positives int `(q,)` and negatives int `(q, n)`, -1 where there are fewer, for documents as their best passage.

    MaxP scores a document by its best passage, so the triplet loss of a question a about document D against D' is

        max(min_{p in D} d(a, p) - min_{p' in D'} d(a, p') + margin, 0).

    The positive is therefore the passage of the gold passage's document that is nearest under the current encoder, and
    each other document has one candidate, its nearest passage. Hard and semi-hard documents are those with
    d(a, p') < d(a, p) + margin; `n` are drawn with `seed` from the `POOL * n` hardest. No passage of a document with a
    `forbidden` one is a negative. Equal ones go to the lower index. Shapes as in `online_negatives`; `document_of` is
    ascending. The choice is of the vectors given, as that of the positive of a bag in MI-SVM (Andrews et al., 2003);
    MaxP: Dai and Callan (2019).
    """
    positives = np.empty(len(questions), dtype=np.int64)
    candidates = np.full((len(questions), POOL * n), -1, dtype=np.int64)
    block = max(1, cells // len(passages))
    for start in range(0, len(questions), block):
        rows = slice(start, start + block)
        scores, best = _best_passages(questions[rows] @ passages.T, document_of)
        inside = (forbidden[0] >= start) & (forbidden[0] < start + block)
        closed = forbidden[0][inside] - start, document_of[forbidden[1][inside]]
        positives[rows], found = _hardest(scores, best, document_of[gold[rows]], closed, POOL * n, margin)
        candidates[rows, : found.shape[1]] = found
    return positives, draw(candidates, n, seed)


def _best_passages(scores, document_of):
    """Of scores `(q, passages)` each document's best, `(q, documents)`, and the passage that has it, the first one."""
    best = max_passage(scores, document_of)
    places = np.where(scores == best[:, document_of], np.arange(len(document_of)), len(document_of))
    return best, np.minimum.reduceat(places, np.flatnonzero(np.diff(document_of, prepend=-1)), axis=1)


def _hardest(scores, best, own, closed, k, margin):
    """The best passage of each row's `own` document, and of at most `k` others within the margin, hardest first.

    `closed`: pairs (row, document) that give none.
    """
    positive = np.take_along_axis(scores, own[:, None], axis=1)
    allowed = scores > positive - margin
    allowed[closed] = False
    order = np.argsort(np.where(allowed, -scores, np.inf), axis=1, kind="stable")[:, :k]
    found = np.where(np.take_along_axis(allowed, order, axis=1), np.take_along_axis(best, order, axis=1), -1)
    return np.take_along_axis(best, own[:, None], axis=1)[:, 0], found


def draw(candidates, n, seed):
    """`n` of each row's candidates (those >= 0) without repetition, in random order; -1 fills what is missing."""
    keys = np.random.default_rng(seed).random(candidates.shape)
    keys[candidates < 0] = 2.0
    return np.take_along_axis(candidates, np.argsort(keys, axis=1, kind="stable")[:, :n], axis=1)
