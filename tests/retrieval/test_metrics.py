import numpy as np
import pytest

from distill.retrieval.metrics import mrr_at, precision_at, question_scores, summarise_ranks

RANKS = np.array([1, 2, 5, 6, 10, 11, 400, 1])


def test_precision_is_the_share_of_questions_answered_among_the_first_k():
    assert [precision_at(RANKS, k) for k in (1, 5, 10)] == [2 / 8, 4 / 8, 6 / 8]
    assert precision_at(np.array([3, 3]), 10) == 1.0  # not divided by k


def test_mrr_is_the_mean_of_reciprocal_ranks_and_0_beyond_k():
    assert mrr_at(RANKS, 10) == pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 6 + 1 / 10 + 0 + 0 + 1) / 8)
    assert mrr_at(RANKS, 5) == pytest.approx((1 + 1 / 2 + 1 / 5 + 0 + 0 + 0 + 0 + 1) / 8)
    assert mrr_at(RANKS, 1) == precision_at(RANKS, 1) == 0.25


def test_the_summary_names_each_metric_by_its_own_k_in_plain_numbers():
    mrr = pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 6 + 1 / 10 + 1) / 8)
    assert summarise_ranks(RANKS) == {"p@1": 2 / 8, "p@5": 4 / 8, "p@10": 6 / 8, "mrr@10": mrr, "questions": 8}
    assert {type(value) for value in summarise_ranks(RANKS).values()} == {float, int}
    for metric in ("p@1", "mrr@10"):
        assert np.mean(question_scores(RANKS, metric)) == summarise_ranks(RANKS)[metric]


def test_scores_of_each_question():
    ranks = np.array([1, 2, 3, 10, 11])
    assert question_scores(ranks, "p@1").tolist() == [1, 0, 0, 0, 0]
    assert question_scores(ranks, "mrr@10").tolist() == [1, 1 / 2, 1 / 3, 1 / 10, 0]
    # 1 / log2 of 2, 3, 4 and 11
    assert question_scores(ranks, "ndcg@10") == pytest.approx([1, 0.63093, 0.5, 0.28906, 0], abs=1e-5)


@pytest.mark.parametrize("metric", ["p@1", "mrr@10", "map", "ndcg@10"])
def test_every_metric_scores_a_question_from_0_to_1(metric):
    assert question_scores(np.array([1, 500]), metric).tolist() == [1.0, 1 / 500 if metric == "map" else 0.0]
