import numpy as np
import pytest

from distill.retrieval.blocks import (
    Product,
    TopScores,
    document_spans,
    mark_highest,
    questions_per_block,
    spans,
    top_places,
)


def bounds(blocks):
    return [(block.start, block.stop) for block in blocks]


def test_spans_cut_all_rows_once():
    assert bounds(spans(10, 4)) == [(0, 4), (4, 8), (8, 10)]
    assert bounds(spans(4, 4)) == [(0, 4)]
    assert bounds(spans(0, 4)) == []


def test_no_document_is_cut():
    # Documents of 2, 1, 5, 1 and 1 passages.
    document_of = np.array([0, 0, 1, 2, 2, 2, 2, 2, 3, 4])
    assert bounds(document_spans(document_of, 3)) == [(0, 3), (3, 8), (8, 10)]
    assert bounds(document_spans(document_of, 2)) == [(0, 2), (2, 3), (3, 8), (8, 10)]
    assert bounds(document_spans(document_of, 1)) == [(0, 2), (2, 3), (3, 8), (8, 9), (9, 10)]
    assert bounds(document_spans(document_of, 10)) == [(0, 10)]


def test_beside_a_long_document_there_are_fewer_questions():
    assert questions_per_block([slice(0, 3), slice(3, 8)], 40) == 8
    assert questions_per_block([slice(0, 80)], 40) == 1


def test_a_product_takes_the_place_of_the_last():
    product, random = Product(), np.random.default_rng(0)
    rows = random.integers(-3, 4, (9, 4)).astype(np.float32)
    first = product(rows[:3], rows)
    np.testing.assert_array_equal(first, rows[:3] @ rows.T)
    second = product(rows[:2], rows[:5])
    np.testing.assert_array_equal(second, rows[:2] @ rows[:5].T)
    assert np.shares_memory(first, second)
    assert product(rows.astype(np.float64), rows).dtype == np.float64
    np.testing.assert_array_equal(product(rows.astype(np.float16), rows), rows @ rows.T)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_highest_are_those_of_a_stable_sort(k):
    scores = np.random.default_rng(k).integers(0, 4, (50, 8)).astype(np.float32)
    expected = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(expected, np.argsort(-scores, axis=1, kind="stable")[:, :k], True, axis=1)
    np.testing.assert_array_equal(mark_highest(scores, k), expected)
    # Of fewer numbers than wanted all are among them.
    few = np.array([[np.nan, 2, np.nan, 1]], dtype=np.float32)
    assert mark_highest(few, 3).tolist() == [[False, True, False, True]]


@pytest.mark.parametrize("k", [1, 5, 40, 41, 99])
def test_the_head_of_scores_is_that_of_a_stable_sort(k):
    scores = np.random.default_rng(k).integers(0, 6, 40).astype(np.float32)
    np.testing.assert_array_equal(top_places(scores, k), np.argsort(-scores, kind="stable")[:k])


def test_equal_scores_stand_in_the_order_in_which_they_came():
    best = TopScores(1, 3)
    best.add(np.array([[0.5, 0.25, 0.5]]), lambda row, column: 10 + column)
    best.add(np.array([[0.5, 0.75, np.nan, np.inf]]), lambda row, column: 20 + column)
    # What is infinite stands first, and has no index.
    assert best.indices.tolist() == [[-1, 21, 10]]
    assert best.values.tolist() == [[np.inf, 0.75, 0.5]]


def test_scores_that_rise_are_all_seen():
    """Each block is higher than all before: nothing may be passed over, and each time all of a block is above."""
    best = TopScores(2, 4)
    for start in range(0, 1000, 100):
        best.add(np.arange(start, start + 100, dtype=np.float32)[None].repeat(2, axis=0), lambda _, c, s=start: s + c)
    assert best.indices.tolist() == [[999, 998, 997, 996]] * 2
