import itertools

import numpy as np

from distill.papers.reading.pieces import (
    LONGEST,
    SHARED,
    WINDOW,
    TokenSpan,
    best_over_windows,
    best_span,
    split_windows,
)


def test_the_best_span_is_that_of_all_pairs():
    logits = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    length = 50
    pairs = [(a, b) for a, b in itertools.product(range(length), repeat=2) if 0 <= b - a < LONGEST]
    first, last = max(pairs, key=lambda pair: logits[pair[0] + 1, 0] + logits[pair[1] + 1, 1])
    best = best_span(logits, length)
    assert (best.first, best.last) == (first, last)
    np.testing.assert_allclose(best.score, logits[first + 1, 0] + logits[last + 1, 1] - logits[0].sum(), rtol=1e-5)


def test_windows_cover_a_long_text_and_overlap():
    assert split_windows(WINDOW) == [(0, WINDOW)]
    for length in (WINDOW + 1, 1000, 1001):
        windows = split_windows(length)
        assert windows[0][0] == 0 and windows[-1][1] == length
        assert all(end - start == WINDOW for start, end in windows)
        assert all(one[1] - other[0] >= SHARED for one, other in itertools.pairwise(windows))


def test_the_best_of_windows_is_in_pieces_of_the_text():
    assert best_over_windows([(0, TokenSpan(3, 4, 1.0)), (224, TokenSpan(1, 2, 2.0))]) == TokenSpan(225, 226, 2.0)


def test_a_text_without_pieces_has_no_window_and_no_answer():
    assert split_windows(0) == []
    nothing = best_over_windows([])
    assert nothing.last < nothing.first and nothing.score == 0
