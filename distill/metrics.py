"""Retrieval metrics from ranks: one relevant unit a question, rank 1 is best."""

import numpy as np


def hits(ranks, k):
    """float `(q,)`: 1 where the answer is among the first k, else 0. `ranks`, int `(q,)`, from 1."""
    return np.where(ranks <= k, 1.0, 0.0)


def reciprocal_ranks(ranks, k):
    """float `(q,)`: 1 / rank, 0 beyond rank k. With one relevant unit it is average precision at k."""
    return np.where(ranks <= k, 1.0 / ranks, 0.0)


def discounted_gains(ranks, k):
    """float `(q,)`: nDCG@k of each question, 1 / log2(1 + rank), 0 beyond rank k; the ideal is 1.

    Järvelin & Kekäläinen (2002), with one relevant unit.
    """
    return np.where(ranks <= k, 1.0 / np.log2(1.0 + ranks), 0.0)


SCORES = {"p@1": (hits, 1), "mrr@10": (reciprocal_ranks, 10), "ndcg@10": (discounted_gains, 10)}


def question_scores(ranks, metric):
    """float `(q,)`: what each question adds to the mean that is the metric, one of `config.METRICS`."""
    score, k = SCORES[metric]
    return score(np.asarray(ranks), k)


def precision_at(ranks, k):
    """P@k as the papers count it: the share of questions whose answer is among the first k, in [0, 1].

    `ranks`, int `(q,)`, from 1. CL-ReLKT, section 4.3.
    """
    return float(np.mean(hits(ranks, k)))


def mrr_at(ranks, k):
    """Mean reciprocal rank, 0 beyond rank k, in [0, 1]. With one relevant unit it is mean average precision at k."""
    return float(np.mean(reciprocal_ranks(ranks, k)))


def summary(ranks):
    """All reported metrics of one list of ranks, with the number of questions."""
    return {
        "p@1": precision_at(ranks, 1),
        "p@5": precision_at(ranks, 5),
        "p@10": precision_at(ranks, 10),
        "mrr@10": mrr_at(ranks, 10),
        "questions": len(ranks),
    }
