from math import erfc, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest

from distill.evaluation.mcnemar import compare, count_disagreements, mcnemar_p


def answers(only_a, only_b, both=3, neither=4):
    """Who was right, with these counts."""
    a = [True] * only_a + [False] * only_b + [True] * both + [False] * neither
    b = [False] * only_a + [True] * only_b + [True] * both + [False] * neither
    return np.array(a), np.array(b)


def rank_pair(only_a, only_b):
    """The same as ranks: 1 where right, else one of several wrong places."""
    a, b = answers(only_a, only_b)
    return np.where(a, 1, 2), np.where(b, 1, 7)


def test_disagreements_alone_enter_the_test_whoever_comes_first():
    assert count_disagreements(*answers(only_a=5, only_b=2)) == (5, 2)
    assert mcnemar_p(*answers(9, 2, both=0, neither=0)) == mcnemar_p(*answers(9, 2, both=500, neither=300))
    assert mcnemar_p(*answers(0, 0)) == 1.0
    for only_a, only_b in ((9, 2), (30, 11)):
        assert mcnemar_p(*answers(only_a, only_b)) == mcnemar_p(*answers(only_b, only_a))


@pytest.mark.parametrize("only_a, only_b", [(0, 1), (1, 9), (8, 0), (7, 7), (4, 20), (12, 12), (8, 16)])
def test_few_disagreements_take_the_exact_binomial_test(only_a, only_b):
    expected = binomtest(only_a, only_a + only_b, 0.5).pvalue
    assert mcnemar_p(*answers(only_a, only_b)) == pytest.approx(expected, rel=1e-9)


def test_25_disagreements_take_chi_squared_with_continuity_correction():
    # (|20 - 10| - 1)^2 / 30 = 2.7; with one degree of freedom P(chi2 > x) = erfc(sqrt(x / 2)) = 0.1003
    assert mcnemar_p(*answers(20, 10)) == pytest.approx(erfc(sqrt(2.7 / 2)), rel=1e-9)
    # Of as many on both sides (0 - 1)^2 / 26.
    assert mcnemar_p(*answers(13, 13)) == pytest.approx(erfc(sqrt(1 / 26 / 2)), rel=1e-9)
    # (|8 - 17| - 1)^2 / 25 = 2.56
    assert mcnemar_p(*answers(8, 17)) == pytest.approx(erfc(sqrt(2.56 / 2)), rel=1e-9)


def test_a_row_gives_shares_counts_and_p_and_only_the_first_place_is_right():
    a, b = rank_pair(only_a=9, only_b=1)  # and 3 that both have right, 4 that neither has
    row = compare({"de": a}, {"de": b})["de"]
    assert (row.a, row.b) == (pytest.approx(12 / 17), pytest.approx(4 / 17))
    assert (row.only_a, row.only_b, row.questions) == (9, 1, 17)
    assert row.p == pytest.approx(22 / 1024)  # 2 (1 + 10) / 2^10
    assert compare({"de": np.array([2, 3])}, {"de": np.array([5, 2])})["de"].only_a == 0
    assert compare({}, {}) == {}


def compared(level=0.05, **counts):
    pairs = {language: rank_pair(*pair) for language, pair in counts.items()}
    return compare(*({name: pair[side] for name, pair in pairs.items()} for side in (0, 1)), level=level)


def test_holm_by_hand_and_what_is_significant_hangs_on_the_level_and_the_number_of_languages():
    # Exact p with ten disagreements: 2/1024, 22/1024, 352/1024. Holm multiplies the least by 3, the next by 2.
    rows = compared(vi=(3, 7), de=(0, 10), hi=(9, 1))
    expected = {"vi": 352 / 1024, "de": 3 * 2 / 1024, "hi": 2 * 22 / 1024}
    assert {name: row.p_holm for name, row in rows.items()} == pytest.approx(expected)
    assert {name: row.significant for name, row in rows.items()} == {"vi": False, "de": True, "hi": True}
    # Twice 22/1024: the first becomes 44/1024, and the second may not be less.
    rows = compared(de=(1, 9), hi=(1, 9))
    assert [row.p_holm for row in rows.values()] == [pytest.approx(44 / 1024)] * 2
    assert compared(de=(1, 9))["de"].significant is True
    assert compared(de=(1, 9), hi=(1, 9), vi=(1, 9))["de"].significant is False  # 66/1024 > 0.05
    assert compared(0.02, de=(1, 9))["de"].significant is False
