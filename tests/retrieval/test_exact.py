import tracemalloc

import numpy as np
import pytest
from fixtures.vectors import unit_ranks, unit_rows

from distill.retrieval.exact import max_passage, ranks, top_k

# One question, four passages; documents are passages 0-1, 2, 3.
SCORES = np.array([[0.1, 0.9, 0.3, 0.5]], dtype=np.float32)
DOCUMENT_OF = np.array([0, 0, 1, 2])


def test_a_document_scores_as_its_best_passage_the_greatest_and_not_the_largest_in_size():
    scores = np.array([[0.1, 0.9, 0.3], [-0.9, -0.2, -0.4], [-0.1, -0.3, -0.8]], dtype=np.float32)
    expected = np.array([[0.9, 0.3], [-0.2, -0.4], [-0.1, -0.8]], dtype=np.float32)
    np.testing.assert_array_equal(max_passage(scores, np.array([0, 0, 1])), expected)


def test_a_rank_is_one_more_than_the_number_of_better_or_equal_ones():
    assert [ranks(SCORES, np.array([gold])).tolist() for gold in (1, 2, 0)] == [[1], [3], [4]]
    assert ranks(np.array([[0.2, 0.1], [0.2, 0.1]]), np.array([0, 1])).tolist() == [1, 2]
    # Ties count against the encoder: one is better and two more are equal.
    assert ranks(np.array([[0.5, 0.5, 0.7, 0.5, 0.1]]), np.array([0])).tolist() == [4]
    # So does what is no number: a rank of 0 would count as right in every metric.
    assert ranks(np.full((1, 3), np.nan, dtype=np.float32), np.array([1])).tolist() == [3]


PASSAGES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0]], dtype=np.float32)
QUESTIONS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
GOLD = np.array([0, 0, 2])


def test_scores_that_differ_in_their_last_bit_are_a_tie():
    right = np.float32(0.7)
    scores = np.array([[right, np.nextafter(right, np.float32(0)), 0.69]], dtype=np.float32)
    assert scores[0, 1] < right and ranks(scores, np.array([0])).tolist() == [2]


def test_ranks_by_hand():
    # Scores by question: (1, 0, 0, .6), (0, 1, 0, .8), (0, 0, 1, 0).
    # The second's own passage 0 scores 0, as passage 2 does: behind two, level with one.
    assert unit_ranks(QUESTIONS, PASSAGES, GOLD, DOCUMENT_OF, "passage").tolist() == [1, 4, 1]
    # The second question's document wins by its other passage.
    assert unit_ranks(QUESTIONS, PASSAGES, GOLD, DOCUMENT_OF, "maxp").tolist() == [1, 1, 1]
    documents = np.array([[0, 0.6, 0.8], [0, 0, 1], [0.6, 0.8, 0]], dtype=np.float32)
    # Scores by question: (0, 0, .6), (.6, 0, .8), (.8, 1, 0); the right documents are 0, 0, 1.
    assert unit_ranks(QUESTIONS, documents, GOLD, DOCUMENT_OF, "document").tolist() == [3, 2, 1]


@pytest.mark.parametrize("unit", ["document", "passage", "maxp"])
@pytest.mark.parametrize("block", [1, 4, 1000])
def test_ranks_do_not_depend_on_the_block(unit, block):
    document_of = np.repeat(np.arange(10), 3)
    questions, passages = unit_rows(11, 5, seed=1), unit_rows(30, 5, seed=2)
    vectors = unit_rows(10, 5, seed=3) if unit == "document" else passages
    gold = np.random.default_rng(4).integers(0, 30, 11)
    scores = questions @ vectors.T
    if unit == "maxp":
        scores = scores.reshape(11, 10, 3).max(axis=2)
    target = gold if unit == "passage" else gold // 3
    expected = [1 + int(np.sum(row > row[column])) for row, column in zip(scores, target, strict=True)]
    assert unit_ranks(questions, vectors, gold, document_of, unit, block).tolist() == expected
    # In blocks of the corpus too, from one vector to more than there are.
    for columns in (1, 4, 7, 100):
        assert unit_ranks(questions, vectors, gold, document_of, unit, block, 0, columns).tolist() == expected


@pytest.mark.parametrize("unit", ["document", "passage", "maxp"])
def test_ties_and_what_is_no_number_count_against_in_blocks_too(unit):
    random = np.random.default_rng(0)
    document_of = np.repeat(np.arange(12), [1, 2, 9] * 4)
    # Halves: many are equal, and no order of summation rounds them.
    questions = random.integers(-1, 2, (20, 2)).astype(np.float32) / 2
    vectors = random.integers(-1, 2, (12 if unit == "document" else 48, 2)).astype(np.float32) / 2
    vectors[5] = np.nan
    gold = random.integers(0, 48, 20)
    scores = questions @ vectors.T
    if unit == "maxp":
        scores = np.stack([scores[:, document_of == document].max(axis=1) for document in range(12)], axis=1)
    target = gold if unit == "passage" else document_of[gold]
    expected = [sum(not one < row[column] for one in row) for row, column in zip(scores, target, strict=True)]
    assert unit_ranks(questions, vectors, gold, document_of, unit, 6, 0, 5).tolist() == expected


def test_ranks_in_blocks_hold_no_score_of_every_vector():
    questions, vectors = unit_rows(1000, 4, seed=1), unit_rows(20_000, 4, seed=2)
    tracemalloc.start()
    unit_ranks(questions, vectors, np.arange(1000), None, "passage", 500, 0, 400)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500 * 20_000 * 4 / 8  # an eighth of the scores of one block of questions


def test_vectors_may_be_memory_mapped(tmp_path):
    questions, passages, document_of = unit_rows(40, 8, seed=1), unit_rows(300, 8, seed=2), np.arange(300) // 4
    for name, rows in (("q", questions), ("p", passages)):
        np.save(tmp_path / f"{name}.npy", rows)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "qp"]
    for rows, expected in zip(top_k(*mapped, 5, block=(7, 90)), top_k(questions, passages, 5), strict=True):
        assert type(rows) is np.ndarray
        np.testing.assert_allclose(rows, expected, atol=1e-6)
    for whole in (0, 2**20):
        places = unit_ranks(*mapped, np.arange(40), document_of, "maxp", 16, whole, 50)
        assert places.tolist() == unit_ranks(questions, passages, np.arange(40), document_of, "maxp").tolist()


@pytest.mark.parametrize("block", [(1, 1), (3, 4), (5, 100), (100, 7), (1024, 16384)])
def test_top_k_is_the_head_of_a_full_sort(block):
    queries, corpus = unit_rows(9, 6, seed=1), unit_rows(50, 6, seed=2)
    scores = queries.astype(np.float64) @ corpus.astype(np.float64).T
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :8]
    indices, similarities = top_k(queries, corpus, 8, block=block)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(similarities, np.take_along_axis(scores, expected, axis=1), atol=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_top_k_is_a_stable_sort_whatever_is_asked(seed):
    random = np.random.default_rng(seed)
    n, rows, k = random.integers(1, [12, 200, 30])
    # Whole numbers: many are equal, and none is rounded.
    queries = random.integers(-2, 3, (n, 3)).astype(np.float32)
    corpus = random.integers(-2, 3, (rows, 3)).astype(np.float32)
    corpus[random.random(rows) < 0.1] = np.nan
    pairs = random.permutation(np.argwhere(random.random((n, rows)) < random.choice([0, 0.1, 0.95])))
    indices, similarities = top_k(queries, corpus, k, tuple(pairs.T), tuple(random.integers(1, [13, 220])))
    scores = queries @ corpus.T
    scores[tuple(pairs.T)] = -np.inf
    for row, best, values in zip(scores, indices, similarities, strict=True):
        order = np.argsort(-row, kind="stable")
        order = order[np.isfinite(row[order])][:k]
        np.testing.assert_array_equal(best, np.append(order, [-1] * (k - len(order))))
        np.testing.assert_array_equal(values, np.append(row[order], [-np.inf] * (k - len(order))))


def test_of_no_result_asked_there_is_none():
    assert top_k(unit_rows(3, 4), unit_rows(5, 4), 0)[0].shape == (3, 0)


def test_top_k_leaves_what_it_was_given_alone():
    queries, corpus = unit_rows(3, 6, seed=1), unit_rows(5, 6, seed=2)
    before = queries.copy(), corpus.copy()
    top_k(queries, corpus, 2, (np.array([0, 1]), np.array([1, 1])))
    np.testing.assert_array_equal(queries, before[0])
    np.testing.assert_array_equal(corpus, before[1])


def test_memory_is_bounded_by_the_block_not_by_the_matrix():
    queries, corpus = unit_rows(2000, 4, seed=1), unit_rows(4000, 4, seed=2)
    tracemalloc.start()
    top_k(queries, corpus, 4, block=(200, 400))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * 4000 * 4 / 8  # an eighth of the whole float32 score matrix
