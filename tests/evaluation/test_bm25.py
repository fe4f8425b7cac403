import numpy as np

from distill.evaluation.bm25 import evaluate_bm25
from distill.retrieval.bm25 import bm25_ranks


def test_a_data_set_is_evaluated(sample):
    figures = evaluate_bm25(sample, "dev", "en")
    questions = sample.select("en", "dev")
    gold = np.array([question.passage for question in questions])
    ranks = bm25_ranks([question.text for question in questions], sample.passage_texts, gold, "en")
    assert figures["questions"] == len(questions)
    assert figures["p@1"] == np.mean(ranks == 1)
    assert 0 < figures["p@1"] <= figures["mrr@10"] <= 1
    assert evaluate_bm25(sample, "dev", "en", "morphology", ("mrr@10",)).keys() == {"mrr@10", "questions"}
