"""The passages of a pool that a retriever ranks highest for each question: by BM25, or by an encoder."""

from __future__ import annotations

import numpy as np

from ..data.dataset import Dataset
from ..data.pairs import NONE, Pairs
from ..encoders.encoder import Encoder
from ..retrieval.bm25 import Lexical
from ..retrieval.exact import top_k
from ..system.progress import task
from ..system.types import Integers


def bm25_ranking(pairs: Pairs, dataset: Dataset, k: int, words: str = "plain") -> Integers:
    """int `(n, k)`: rows of passages that share most words with each question of `pairs`, best first; -1 for none.

    BM25 compares words. So a question searches the passages in its own language; where the pool has none, its parallel
    question searches those in the documents' language. `words` says what is compared, a key of `bm25.TERMS`.
    """
    spoken, ranking = set(pairs.languages.tolist()), np.full((len(pairs.questions), k), NONE, dtype=np.int64)
    searched = np.array([one if one in spoken else dataset.document_language for one in pairs.asked_in])
    with task("passages by BM25", len(pairs.questions)) as advance:
        for language in np.unique(searched):
            asking, rows = np.flatnonzero(searched == language), np.flatnonzero(pairs.languages == language)
            queries = [_asked_in(language, pairs.questions[row], dataset) for row in asking]
            index = Lexical([pairs.passages[row] for row in rows], str(language), words)
            for row, scores in zip(asking, index.scores(queries), strict=True):
                best = np.argsort(-scores, kind="stable")[:k]
                best = best[scores[best] > 0]
                ranking[row, : len(best)] = rows[best]
                advance()
    return ranking


def _asked_in(language, question, dataset):
    """The text of a question in a language, or its own where it was not asked in that."""
    return dataset.questions.get(str(language), {}).get(question.id, question).text


def encoder_ranking(encoder: Encoder, pairs: Pairs, k: int) -> Integers:
    """int `(n, k)`: rows of the passages nearest to each question, of whatever languages, best first; -1 for none."""
    questions = [question.text for question in pairs.questions]
    with task(f"passages by {encoder.name}", len(questions) + len(pairs.passages)) as advance:
        vectors = encoder.encode(questions, "question", advance)
        return top_k(vectors, encoder.encode(list(pairs.passages), "document", advance), k)[0]
