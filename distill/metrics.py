"""Retrieval metrics from ranks: one relevant unit a question, rank 1 is best."""

import numpy as np


def precision_at(ranks, k):
    """P@k as the papers count it: the share of questions whose answer is among the first k, in [0, 1].

    `ranks`, int `(q,)`, from 1. CL-ReLKT, section 4.3.
    """
    return float(np.mean(ranks <= k))


def mrr_at(ranks, k):
    """Mean reciprocal rank, 0 beyond rank k, in [0, 1]. With one relevant unit it is mean average precision at k."""
    return float(np.mean(np.where(ranks <= k, 1.0 / ranks, 0.0)))


def summary(ranks):
    """All reported metrics of one list of ranks, with the number of questions."""
    return {
        "p@1": precision_at(ranks, 1),
        "p@5": precision_at(ranks, 5),
        "p@10": precision_at(ranks, 10),
        "mrr@10": mrr_at(ranks, 10),
        "questions": len(ranks),
    }
