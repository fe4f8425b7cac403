import numpy as np
import pytest

from distill.evaluation.bench.rounds import by_language, intervals, summarise


def test_a_summary_by_hand():
    # Of 1 … 100: linear percentiles are 1 + 99 p; the variance of n numbers in a row is (n^2 - 1) / 12.
    figures = summarise(np.arange(1.0, 101.0).reshape(4, 25))
    ends = [end for pair in figures.pop("intervals").values() for end in pair]
    assert {type(value) for value in [*figures.values(), *ends]} == {float}
    expected = {"median_ms": 50.5, "p90_ms": 90.1, "p95_ms": 95.05, "p99_ms": 99.01, "mean_ms": 50.5}
    assert figures == pytest.approx({**expected, "std_ms": (9999 / 12) ** 0.5})


def test_an_interval_is_over_questions_and_not_over_rounds():
    # Every question takes the same: however the rounds spread, drawing questions anew changes nothing.
    times = np.repeat([[1.0], [2.0], [9.0]], 50, axis=1)
    assert intervals(times)["median_ms"] == [2.0, 2.0]
    # Drawn with replacement: both 1 (1 in 4), both 3 (1 in 4), or one of each, whose median is 2.
    assert intervals(np.array([[1.0, 3.0], [1.0, 3.0]]))["median_ms"] == [1.0, 3.0]


def test_an_interval_covers_what_theory_says():
    # The median of n normal numbers has the standard deviation sqrt(pi / 2n): 0.0627 for 400.
    times = np.random.default_rng(1).normal(10, 1, size=(1, 400))
    low, high = intervals(times)["median_ms"]
    assert low < np.median(times) < high
    assert high - low == pytest.approx(2 * 1.96 * (np.pi / 800) ** 0.5, rel=0.35)


def test_an_interval_is_seeded():
    times = np.random.default_rng(0).random((2, 30))
    assert intervals(times, 3) == intervals(times, 3) != intervals(times, 4)


def test_languages_have_their_own_figures():
    figures = by_language(np.array([[1.0, 10.0, 3.0], [1.0, 30.0, 3.0]]), ["de", "th", "de"])
    assert list(figures) == ["de", "th"]
    assert [(row["questions"], row["median_ms"]) for row in figures.values()] == [(2, 2.0), (1, 20.0)]
