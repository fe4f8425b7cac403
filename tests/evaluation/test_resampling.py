from itertools import product
from math import inf, isnan, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from distill.evaluation import resampling
from distill.evaluation.resampling import (
    bootstrap,
    detectable_difference,
    effect_size,
    sign_flip_p,
    standard_error,
    sum_clusters,
)

# Question x differs in both of its translations, y in one of three, z not at all.
DIFFERENCES = np.array([1, 0, 1, 0.5, 0, 0], float)
IDS = ["x", "y", "x", "y", "y", "z"]


def normal(n, mean=0.0, seed=0):
    return np.random.default_rng(seed).normal(mean, 1, n)


def alone(n):
    """Ids of n questions in one language."""
    return [f"q{number}" for number in range(n)]


def translated(seed, questions=40, languages=6, mean=0.0):
    """Differences of translations that go almost together, a and b swapped at random by question, and their ids."""
    random = np.random.default_rng(seed)
    sizes = random.exponential(size=(questions, 1)) + 0.1 * random.exponential(size=(questions, languages))
    swaps = random.choice([-1, 1], size=(questions, 1))
    return (mean + sizes * swaps).ravel(), np.repeat(alone(questions), languages)


def test_signs_by_hand_flip_a_question_with_all_its_translations():
    sums, counts = sum_clusters(DIFFERENCES, IDS)
    assert (sums.tolist(), counts.tolist()) == ([2, 0.5, 0], [2, 3, 1])
    # Sums 3, 1 and 2 by question: |+-3 +-1 +-2| is 6 for two of eight signs, 4 for two more.
    assert sign_flip_p([1, 2, 1, 2], ["x", "x", "y", "z"]) == 2 / 8
    # 3, -1 and 2 sum up to 4, which four of eight reach.
    assert sign_flip_p([1, 2, -1, 2], ["x", "x", "y", "z"]) == 4 / 8
    assert sign_flip_p(np.ones(12), ["x"] * 6 + ["y"] * 6) == 2 / 4
    assert sign_flip_p(np.ones(12), alone(12)) == 2 / 2**12


def test_without_a_difference_p_is_1_and_such_questions_leave_it_exact_and_drawn_it_is_never_0():
    assert sign_flip_p(np.zeros(30), alone(30)) == 1.0
    assert sign_flip_p([0.1, 0.2, -0.3], ["x", "x", "x"]) == 1.0  # 5.6e-17 in floats
    differences = np.concatenate([np.ones(13), np.zeros(500)])
    assert sign_flip_p(differences, alone(513)) == 2 / 2**13
    rounded = np.concatenate([np.ones(13), np.tile([0.1, 0.2, -0.3], 10)])  # 5.6e-17 by question
    assert sign_flip_p(rounded, [*alone(13), *np.repeat([f"z{n}" for n in range(10)], 3)]) == 2 / 2**13
    assert sign_flip_p(np.ones(100), alone(100), draws=999) == 1 / 1000


@pytest.mark.parametrize("order", [(0.1, 0.2, 0.3), (0.3, 0.2, 0.1)])
def test_ties_count_against_significance_whatever_the_rounding(order):
    # 0.6 is reached by +++ and ---; and 0.1 + 0.2 = 0.3 makes 0 twice.
    assert sign_flip_p(order, alone(3)) == 2 / 8
    # 0.1 + 0.2 - 0.3 is less than any other, so that every sign reaches it.
    assert sign_flip_p([0.1, 0.2, -0.3], alone(3)) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_exact_and_drawn_p_are_scipys(seed):
    differences = normal(11, 0.5, seed)
    options = {"permutation_type": "samples", "n_resamples": np.inf}
    expected = stats.permutation_test((differences,), np.mean, **options).pvalue
    assert sign_flip_p(differences, alone(11)) == pytest.approx(expected, rel=1e-12)
    differences = normal(60, 0.2, seed)
    expected = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis), vectorized=True, rng=seed, **{**options, "n_resamples": 20_000}
    ).pvalue
    # Ours is one proportion of the draws, scipy's twice that of the smaller tail.
    error = sqrt((3 * expected - 2 * expected**2) / 20_000)
    assert abs(sign_flip_p(differences, alone(60), draws=20_000) - expected) < 4 * error + 1e-4


def test_drawn_p_of_clusters_is_that_of_all_signs():
    differences, ids = translated(3, questions=14, languages=3, mean=0.2)
    sums = differences.reshape(14, 3).sum(axis=1)
    signed = np.abs(np.array(list(product([-1, 1], repeat=14))) @ sums)
    expected = np.mean(signed >= abs(sums.sum()) - 1e-9)
    assert 0.02 < expected < 0.98
    assert sign_flip_p(differences, ids, draws=50_000) == pytest.approx(expected, abs=4 * 0.5 / sqrt(50_000))


def test_p_is_the_same_in_any_order_for_a_seed_and_in_blocks(monkeypatch):
    differences, ids = translated(5)
    order = np.random.default_rng(0).permutation(len(ids))
    assert sign_flip_p(differences[order], ids[order], 500) == sign_flip_p(differences, ids, 500)
    differences, ids = normal(50, 0.2), alone(50)
    whole = sign_flip_p(differences, ids, draws=2000, seed=1)
    assert sign_flip_p(differences, ids, draws=2000, seed=1) == whole
    assert sign_flip_p(differences, ids, draws=2000, seed=2) != whole
    monkeypatch.setattr(resampling, "BLOCK", 777)
    assert sign_flip_p(differences, ids, draws=2000, seed=1) == pytest.approx(whole, abs=0.05)


def test_where_labels_are_permuted_p_is_uniform_only_by_question():
    clustered, naive = [], []
    for seed in range(300):
        differences, ids = translated(seed)
        clustered.append(sign_flip_p(differences, ids, 999, seed))
        naive.append(sign_flip_p(differences, alone(len(ids)), 999, seed))
    assert stats.kstest(clustered, "uniform").pvalue > 0.001
    assert stats.kstest(naive, "uniform").pvalue < 1e-6
    # What it means: chance is found in far more than 5 of 100 comparisons.
    assert np.mean(np.array(clustered) < 0.05) < 0.1 and np.mean(np.array(naive) < 0.05) > 0.25


def test_a_known_difference_is_found():
    differences, ids = translated(0, questions=60, mean=1.0)
    (low, high), (effect_low, effect_high) = bootstrap(differences, ids, 2000)
    assert sign_flip_p(differences, ids) < 0.001
    assert 0 < low < 1 < high and 0 < effect_low < effect_high


@pytest.mark.parametrize("most", [1, 5])
def test_intervals_of_clusters_of_one_and_of_unequal_size_are_scipys(most):
    random = np.random.default_rng(4)
    counts = random.integers(1, most + 1, size=50)
    ids = np.repeat(alone(50), counts)
    differences = np.repeat(random.normal(0.3, 1, 50), counts) + random.normal(0, 0.3, len(ids))
    sums = np.array([differences[ids == id].sum() for id in alone(50)])
    options = {"method": "percentile", "n_resamples": 20_000, "vectorized": True, "rng": np.random.default_rng(0)}
    ratio = stats.bootstrap((sums, counts), lambda s, n, axis: s.sum(axis) / n.sum(axis), paired=True, **options)
    effect = stats.bootstrap((sums / counts,), lambda x, axis: x.mean(axis) / x.std(axis, ddof=1), **options)
    intervals = bootstrap(differences, ids, 20_000)
    assert intervals[0] == pytest.approx(tuple(ratio.confidence_interval), abs=0.015)
    assert intervals[1] == pytest.approx(tuple(effect.confidence_interval), abs=0.015)


def test_intervals_hold_the_truth_in_95_of_100():
    held = []
    for seed in range(1000):
        random = np.random.default_rng([seed, 1])  # not the resamples' own numbers
        counts = random.integers(1, 5, size=119)
        differences = np.repeat(random.normal(0.1, 1, 119), counts) + random.normal(0, 0.2, counts.sum())
        low, high = bootstrap(differences, np.repeat(alone(119), counts), 499, seed)[0]
        held.append(low < 0.1 < high)
    assert 0.93 < np.mean(held) < 0.97


def test_intervals_are_the_same_for_a_seed_and_in_blocks_and_wider_for_a_wider_level(monkeypatch):
    differences, ids = translated(1)
    whole = bootstrap(differences, ids, 2000, seed=1)
    assert bootstrap(differences, ids, 2000, seed=1) == whole
    assert bootstrap(differences, ids, 2000, seed=2) != whole
    monkeypatch.setattr(resampling, "BLOCK", 777)
    np.testing.assert_allclose(bootstrap(differences, ids, 2000, seed=1), whole, atol=0.05)
    differences = normal(50)
    narrow, wide = (bootstrap(differences, alone(50), 2000, level=level)[0] for level in (0.5, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_the_effect_is_over_the_means_of_questions_and_t_by_the_root_of_n():
    # Means 1, 1/6 and 0; their mean is 7/18.
    means = np.array([1, 1 / 6, 0])
    deviation = sqrt(sum((means - 7 / 18) ** 2) / 2)
    assert effect_size(DIFFERENCES, IDS) == pytest.approx(7 / 18 / deviation)
    differences = normal(40, 0.3)
    t = stats.ttest_1samp(differences, 0).statistic
    assert effect_size(differences, alone(40)) == pytest.approx(t / sqrt(40))


@pytest.mark.parametrize("value, effect", [(0, 0), (0.1, inf), (-0.1, -inf)])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_the_same_difference_everywhere_is_an_infinite_effect_and_none_is_0(n, value, effect):
    assert effect_size(np.full(n, value), alone(n)) == effect
    means, effects = bootstrap(np.full(n, value), alone(n), 100)
    assert means == pytest.approx((value, value)) and effects == (effect, effect)


def test_effects_of_resamples_of_few_questions_by_hand():
    # Resamples are now both zero, now both one, now mixed.
    assert bootstrap([1.0, 0.0], ["x", "y"], 1000) == ((0, 1), (0, inf))
    # Half of them are (1, 2), mean 1.5 and deviation the root of 1/2; the others' is infinite.
    assert bootstrap([1.0, 2.0], ["x", "y"], 1000, level=0.6)[1] == (pytest.approx(1.5 / sqrt(0.5)), inf)


@pytest.mark.parametrize("n", range(20, 30))
def test_resamples_without_a_difference_have_effect_0(n):
    differences = np.zeros(n)
    differences[0] = 0.1
    assert bootstrap(differences, alone(n), 500)[1][0] == 0


def test_the_standard_error_is_that_of_a_mean_and_of_unequal_clusters_by_hand():
    differences = normal(50)
    assert standard_error(differences, alone(50)) == pytest.approx(stats.sem(differences))
    # Copies of a question tell no more.
    copies = standard_error(np.repeat(differences, 7), np.repeat(alone(50), 7))
    assert copies == pytest.approx(stats.sem(differences))
    # Sums 2, 0.5, 0 of 2, 3, 1; mean 2.5 / 6. Residuals 2 - 5/6, 0.5 - 7.5/6, -2.5/6.
    residuals = np.array([2 - 5 / 6, 0.5 - 7.5 / 6, -2.5 / 6])
    assert standard_error(DIFFERENCES, IDS) == pytest.approx(sqrt(3 / 2 * sum(residuals**2)) / 6)


@pytest.mark.parametrize("level, power", [(0.05, 0.8), (0.05 / 36, 0.8), (0.01, 0.95)])
def test_the_detectable_difference_is_the_two_normal_quantiles_times_the_standard_error(level, power):
    differences, normal_quantile = normal(2000), NormalDist().inv_cdf
    expected = (normal_quantile(1 - level / 2) + normal_quantile(power)) * stats.sem(differences)
    assert detectable_difference(differences, alone(2000), level, power) == pytest.approx(expected, rel=1e-5)
    # By the t distribution, of 2,000 questions nearly the same.
    by_t = TTestPower().solve_power(nobs=2000, alpha=level, power=power) * differences.std(ddof=1)
    assert expected == pytest.approx(by_t, rel=5e-3)


def test_the_detectable_difference_shows_in_80_of_100():
    least = detectable_difference(normal(150), alone(150)) / normal(150).std(ddof=1)
    shown = [sign_flip_p(normal(150, least, 1 + seed), alone(150), 500) < 0.05 for seed in range(300)]
    assert 0.72 < np.mean(shown) < 0.88


@pytest.mark.parametrize("differences", [[0.3], [0.0] * 5, [0.1] * 5])
def test_without_a_deviation_nothing_is_said_of_what_would_show(differences):
    assert detectable_difference(differences, alone(len(differences))) is None
    assert len(differences) > 1 or isnan(standard_error(differences, alone(1)))
