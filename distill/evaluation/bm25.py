"""The figures of BM25 on a data set, which an encoder's are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.dataset import Dataset
from ..retrieval.bm25 import bm25_ranks
from ..retrieval.metrics import SUMMARY, summary


def evaluate_bm25(
    dataset: Dataset, split: str, language: str, words: str = "plain", metrics: Sequence[str] = SUMMARY
) -> dict[str, float]:
    """Return `metrics.summary` of BM25's passages for a split's questions in `language`.

    Words are of each passage's language, the kind that `words` names, a key of `retrieval.bm25.TERMS`.
    """
    questions = dataset.select(language, split)
    gold = np.array([question.passage for question in questions])
    queries = [question.text for question in questions]
    return summary(bm25_ranks(queries, dataset.passage_texts, gold, dataset.passage_languages, words), metrics)
