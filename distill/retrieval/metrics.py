"""Retrieval metrics from ranks, with one relevant unit per question and 1 as the best rank.

Ranks are an integer array `(q,)`, and `k` is a number of first places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..system.types import Doubles, Integers


def hits(ranks: Integers, k: float) -> Doubles:
    """Return 1 for each question whose answer is among the first k, else 0."""
    return np.where(ranks <= k, 1.0, 0.0)


def reciprocal_ranks(ranks: Integers, k: float) -> Doubles:
    """Return 1 / rank of each question, and 0 beyond rank k; with one relevant unit, average precision at k."""
    return np.where(ranks <= k, 1.0 / ranks, 0.0)


def discounted_gains(ranks: Integers, k: float) -> Doubles:
    """Return nDCG@k of each question: 1 / log2(1 + rank), and 0 beyond rank k.

    Järvelin & Kekäläinen (2002), with one relevant unit, for which the ideal is 1. Returns a float array `(q,)`.
    """
    return np.where(ranks <= k, 1.0 / np.log2(1.0 + ranks), 0.0)


SCORES = {"p": hits, "mrr": reciprocal_ranks, "ndcg": discounted_gains}
SUMMARY = ("p@1", "p@5", "p@10", "mrr@10")


def question_scores(ranks: Integers | Doubles, metric: str) -> Doubles:
    """Return the score of each question, of which the metric is the mean; average precision is the reciprocal rank."""
    if metric == "map":
        return reciprocal_ranks(np.asarray(ranks), np.inf)
    kind, k = metric.split("@")
    return SCORES[kind](np.asarray(ranks), int(k))


def precision_at(ranks: Integers, k: int) -> float:
    """Return P@k as the papers count it: the share of questions whose answer is among the first k (CL-ReLKT, 4.3)."""
    return float(np.mean(hits(ranks, k)))


def mrr_at(ranks: Integers, k: int) -> float:
    """Return the mean reciprocal rank, with 0 beyond rank k; with one relevant unit, mean average precision at k."""
    return float(np.mean(reciprocal_ranks(ranks, k)))


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if all are."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


def summarise_ranks(ranks: Integers, metrics: Sequence[str] = SUMMARY) -> dict[str, float]:
    """Return metrics of the ranks of one language, with their number: `{metric: value, "questions": number}`."""
    return {**{metric: float(np.mean(question_scores(ranks, metric))) for metric in metrics}, "questions": len(ranks)}


def allowed_drop(points: float, questions: int) -> float:
    """Return the points of mean P@1 that may be lost on a number of dev questions.

    With few questions a single one is worth more than `points`, and any rounding can turn one. At least one question
    may therefore be lost, unless `points` is 0.
    """
    return max(points, round(100 / max(1, questions), 6)) if points else 0.0
