from math import erfc, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest

from distill.evaluation.mcnemar import compare, disagreements, mcnemar_p


def answers(only_a, only_b, both=3, neither=4):
    """Who was right, with these counts."""
    a = [True] * only_a + [False] * only_b + [True] * both + [False] * neither
    b = [False] * only_a + [True] * only_b + [True] * both + [False] * neither
    return np.array(a), np.array(b)


def rank_pair(only_a, only_b):
    """The same as ranks: 1 where right, else one of several wrong places."""
    a, b = answers(only_a, only_b)
    return np.where(a, 1, 2), np.where(b, 1, 7)


def test_disagreements_count_who_alone_was_right():
    assert disagreements(*answers(only_a=5, only_b=2)) == (5, 2)


@pytest.mark.parametrize("only_a, only_b", [(0, 1), (1, 9), (8, 0), (7, 7), (4, 20), (12, 12)])
def test_few_disagreements_take_the_exact_binomial_test(only_a, only_b):
    expected = binomtest(only_a, only_a + only_b, 0.5).pvalue
    assert mcnemar_p(*answers(only_a, only_b)) == pytest.approx(expected, rel=1e-9)


def test_many_disagreements_take_chi_squared_with_continuity_correction():
    # (|20 - 10| - 1)^2 / 30 = 2.7; with one degree of freedom P(chi2 > x) = erfc(sqrt(x / 2)) = 0.1003
    assert mcnemar_p(*answers(20, 10)) == pytest.approx(erfc(sqrt(2.7 / 2)), rel=1e-9)
    assert mcnemar_p(*answers(20, 10)) == pytest.approx(0.1003, abs=1e-4)


def test_the_exact_test_ends_at_25_disagreements():
    exact = [binomtest(8, n, 0.5).pvalue for n in (24, 25)]
    assert mcnemar_p(*answers(8, 16)) == pytest.approx(exact[0], rel=1e-9)
    # (|8 - 17| - 1)^2 / 25 = 2.56
    assert mcnemar_p(*answers(8, 17)) == pytest.approx(erfc(sqrt(2.56 / 2)), rel=1e-9)
    assert mcnemar_p(*answers(8, 17)) != pytest.approx(exact[1], rel=1e-3)


def test_questions_on_which_both_agree_do_not_enter_the_test():
    assert mcnemar_p(*answers(9, 2, both=0, neither=0)) == mcnemar_p(*answers(9, 2, both=500, neither=300))


def test_encoders_that_never_differ_have_p_1():
    assert mcnemar_p(*answers(0, 0)) == 1.0


@pytest.mark.parametrize("only_a, only_b", [(9, 2), (30, 11)])
def test_it_does_not_matter_which_encoder_comes_first(only_a, only_b):
    assert mcnemar_p(*answers(only_a, only_b)) == mcnemar_p(*answers(only_b, only_a))


def test_a_row_gives_shares_counts_and_p():
    a, b = rank_pair(only_a=9, only_b=1)  # and 3 that both have right, 4 that neither has
    row = compare({"de": a}, {"de": b})["de"]
    assert (row.a, row.b) == (pytest.approx(12 / 17), pytest.approx(4 / 17))
    assert (row.only_a, row.only_b, row.questions) == (9, 1, 17)
    assert row.p == pytest.approx(22 / 1024)  # 2 (1 + 10) / 2^10


def test_only_the_first_place_is_right():
    assert compare({"de": np.array([2, 3])}, {"de": np.array([5, 2])})["de"].only_a == 0


def test_holm_by_hand():
    # Exact p with ten disagreements: 2/1024, 22/1024, 352/1024. Holm multiplies the least by 3, the next by 2.
    counts = {"vi": (3, 7), "de": (0, 10), "hi": (9, 1)}
    pairs = {language: rank_pair(*pair) for language, pair in counts.items()}
    rows = compare({name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()})
    assert {name: row.p_holm for name, row in rows.items()} == {
        "vi": pytest.approx(352 / 1024),
        "de": pytest.approx(3 * 2 / 1024),
        "hi": pytest.approx(2 * 22 / 1024),
    }
    assert {name: row.significant for name, row in rows.items()} == {"vi": False, "de": True, "hi": True}


def test_holm_never_falls_below_the_smaller_p_before_it():
    # Twice 22/1024: the first becomes 44/1024, and the second may not be less.
    pairs = {language: rank_pair(1, 9) for language in ("de", "hi")}
    rows = compare({name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()})
    assert [row.p_holm for row in rows.values()] == [pytest.approx(44 / 1024)] * 2


def test_what_is_significant_alone_need_not_be_among_many_languages():
    pairs = {language: rank_pair(1, 9) for language in ("de", "hi", "vi")}
    alone = compare({"de": pairs["de"][0]}, {"de": pairs["de"][1]})
    many = compare({name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()})
    assert alone["de"].significant is True
    assert many["de"].significant is False  # 66/1024 > 0.05


def test_the_level_decides_what_is_significant():
    a, b = rank_pair(1, 9)
    assert compare({"de": a}, {"de": b}, level=0.02)["de"].significant is False


def test_no_language_gives_no_row():
    assert compare({}, {}) == {}
