"""Retrieval metrics from ranks: one relevant unit a question, rank 1 is best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..system.types import Doubles, Integers


def hits(ranks: Integers, k: float) -> Doubles:
    """float `(q,)`: 1 where the answer is among the first k, else 0. `ranks`, int `(q,)`, from 1."""
    return np.where(ranks <= k, 1.0, 0.0)


def reciprocal_ranks(ranks: Integers, k: float) -> Doubles:
    """float `(q,)`: 1 / rank, 0 beyond rank k. With one relevant unit it is average precision at k."""
    return np.where(ranks <= k, 1.0 / ranks, 0.0)


def discounted_gains(ranks: Integers, k: float) -> Doubles:
    """float `(q,)`: nDCG@k of each question, 1 / log2(1 + rank), 0 beyond rank k; the ideal is 1.

    Järvelin & Kekäläinen (2002), with one relevant unit.
    """
    return np.where(ranks <= k, 1.0 / np.log2(1.0 + ranks), 0.0)


SCORES = {"p": hits, "mrr": reciprocal_ranks, "ndcg": discounted_gains}
SUMMARY = ("p@1", "p@5", "p@10", "mrr@10")


def question_scores(ranks: Integers | Doubles, metric: str) -> Doubles:
    """Return each question's score, float `(q,)`, of which the metric, p@k, mrr@k, ndcg@k or map, is the mean.

    With one relevant unit a question's average precision is its reciprocal rank.
    """
    if metric == "map":
        return reciprocal_ranks(np.asarray(ranks), np.inf)
    kind, k = metric.split("@")
    return SCORES[kind](np.asarray(ranks), int(k))


def precision_at(ranks: Integers, k: int) -> float:
    """Return P@k as the papers count it: the share of questions whose answer is among the first k, in [0, 1].

    `ranks`, int `(q,)`, from 1. CL-ReLKT, section 4.3.
    """
    return float(np.mean(hits(ranks, k)))


def mrr_at(ranks: Integers, k: int) -> float:
    """Mean reciprocal rank, 0 beyond rank k, in [0, 1]. With one relevant unit it is mean average precision at k."""
    return float(np.mean(reciprocal_ranks(ranks, k)))


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not None; None where all are."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


def summary(ranks: Integers, metrics: Sequence[str] = SUMMARY) -> dict[str, float]:
    """Return metrics of the ranks of one language's questions, by default `SUMMARY`, and the number of questions."""
    return {**{metric: float(np.mean(question_scores(ranks, metric))) for metric in metrics}, "questions": len(ranks)}


def allowed_drop(points: float, questions: int) -> float:
    """The points of mean P@1 that may be lost on so many dev questions: at least one of them, unless none may be.

    On few a single question is more than the `points`, and any rounding turns one.
    """
    return max(points, round(100 / max(1, questions), 6)) if points else 0.0
