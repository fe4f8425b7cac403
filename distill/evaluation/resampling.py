"""Tests and intervals of a mean difference that keep all translations of a question together.

In every function `differences` is a float array `(n,)` of two encoders' score differences on n questions, and `ids`,
`(n,)`, is the same for translations of one question, which form a cluster. Translations tend to be right or wrong
together, so n of them are not n independent questions. Clusters are therefore what is flipped, drawn or counted.

`scipy.stats.permutation_test` and `bootstrap` compute the same, but they hold all draws at once or take many times as
long, refuse a single cluster, and give NaN for an interval of effect sizes some of which are infinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..system.types import Doubles, Integers

# Up to so many clusters all 2^c signs are enumerated; for more, signs are drawn.
EXACT_UP_TO = 13
# Cells of draws x clusters that are held at once.
BLOCK = 1 << 20
# Sums of equal terms in another order differ by at most this share.
ROUNDING = 1e-12


def sum_clusters(differences: ArrayLike, ids: Sequence[str]) -> tuple[Doubles, Integers]:
    """Return the sums of the differences of each question id, and their counts, in the order of the ids."""
    _, cluster = np.unique(np.asarray(ids), return_inverse=True)
    sums = np.bincount(cluster, weights=np.asarray(differences))
    return sums.astype(np.float64, copy=False), np.bincount(cluster).astype(np.int64, copy=False)


def sign_flip_p(differences: ArrayLike, ids: Sequence[str], draws: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p-value of the mean difference by Fisher's randomisation test.

    The p-value is the share of random signs of the clusters that give a mean at least as far from 0. The test is exact
    if at most 13 clusters have a sum other than 0. Else `draws` signs are drawn and the p-value is (hits + 1) / (draws
    + 1), Phipson & Smyth (2010).
    """
    sums = _not_zero(differences, ids)
    if not len(sums):
        return 1.0
    least = abs(sums.sum()) - ROUNDING * np.abs(sums).sum()
    if len(sums) <= EXACT_UP_TO:
        return float(np.mean(np.abs(_flip_signs(_all_bits(len(sums)), sums)) >= least))
    random = np.random.default_rng(seed)
    bits = (random.integers(0, 2, (rows, len(sums)), dtype=np.uint8) for rows in _blocks(draws, len(sums)))
    hits = sum(np.count_nonzero(np.abs(_flip_signs(block, sums)) >= least) for block in bits)
    return float((hits + 1) / (draws + 1))


def _not_zero(differences, ids):
    sums, _ = sum_clusters(differences, ids)
    sizes, _ = sum_clusters(np.abs(differences), ids)
    return sums[np.abs(sums) > ROUNDING * sizes]


def _all_bits(count):
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


def _flip_signs(bits, sums):
    """Return the sum under each row of signs, in which a bit of 1 stands for + and 0 for -."""
    return 2 * (bits @ sums) - sums.sum()


def _blocks(draws, columns):
    """Return numbers of rows that add up to `draws`, each small enough to be held in memory."""
    rows = max(1, BLOCK // columns)
    return [min(rows, draws - start) for start in range(0, draws, rows)]


def effect_size(differences: ArrayLike, ids: Sequence[str]) -> float:
    """Return d_z: the mean of the clusters' mean differences in standard deviations (c - 1) of these means.

    Each question has the same weight, however many translations it has. Returns the effect size; 0 if nothing differs,
    infinite if all clusters differ by the same.
    """
    sums, counts = sum_clusters(differences, ids)
    means = sums / counts
    return float(_standardise(means.mean(), means.var(ddof=len(means) > 1), means))


def _standardise(mean, variance, means):
    """Return the mean divided by the deviation, of `means` or of resamples of them; it is never NaN."""
    mean = np.where(np.abs(mean) <= ROUNDING * np.max(np.abs(means)), 0.0, mean)
    deviation = np.sqrt(np.where(variance <= ROUNDING * np.max(np.square(means)), 0.0, variance))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / deviation)


def bootstrap(
    differences: ArrayLike, ids: Sequence[str], draws: int = 10_000, seed: int = 0, level: float = 0.95
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return percentile intervals of the mean difference and of its effect size.

    Clusters are drawn with replacement, each with all its translations. The mean is the sum of the differences divided
    by the number of questions drawn. Efron & Tibshirani (1993), chapter 13. `level` is the coverage of the intervals,
    in (0, 1). Returns `((low, high) of the mean difference, (low, high) of its effect size)`.
    """
    sums, counts = sum_clusters(differences, ids)
    means, number = sums / counts, len(sums)
    centre = means.mean()  # subtracted before squaring, as the squares would cancel
    columns = np.stack([sums, counts, means - centre, np.square(means - centre)], axis=1)
    drawn = np.concatenate([weights @ columns for weights in _resamples(number, draws, seed)])
    total, questions, shift, square = drawn.T
    variance = (square - shift**2 / number) / max(number - 1, 1)
    effects = _standardise(centre + shift / number, variance, means)
    return _ends(total / questions, level), _ends(effects, level)


def _resamples(number, draws, seed):
    """Yield blocks `(rows, number)` of how often each cluster was drawn."""
    random = np.random.default_rng(seed)
    for rows in _blocks(draws, number):
        cells = random.integers(number, size=(rows, number)) + number * np.arange(rows)[:, None]
        yield np.bincount(cells.ravel(), minlength=rows * number).reshape(rows, number).astype(float)


def _ends(values, level):
    """Return the two percentiles as values that occurred, as nothing lies between a finite and an infinite one."""
    places = np.rint((len(values) - 1) * np.array([(1 - level) / 2, (1 + level) / 2])).astype(int)
    low, high = np.sort(values)[places]
    return float(low), float(high)


def standard_error(differences: ArrayLike, ids: Sequence[str]) -> float:
    """Return the standard error of the mean difference, from the deviation between clusters.

    It is that of the ratio estimator (Cochran 1977, section 6.4). If each question has n translations it is the
    deviation of the clusters' means divided by the root of their number.
    """
    sums, counts = sum_clusters(differences, ids)
    if len(sums) < 2:
        return float("nan")
    residuals = sums - counts * (sums.sum() / counts.sum())
    return float(np.sqrt(len(sums) / (len(sums) - 1) * np.sum(residuals**2)) / counts.sum())


def detectable_difference(
    differences: ArrayLike, ids: Sequence[str], level: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true mean difference that such a test set shows with a given power.

    It is statsmodels' normal power for one sample, with the deviation that was observed. For Holm's method over m tests
    the strictest level is level / m. `level` is the two-sided level of significance. Returns the difference; None if no
    deviation was observed, as with fewer than two clusters.
    """
    error = standard_error(differences, ids)
    if not error > ROUNDING * np.max(np.abs(differences)):
        return None
    from statsmodels.stats.power import NormalIndPower

    # A ratio of 0 means one sample. It has one observation, so that its deviation is the standard error.
    return float(NormalIndPower(ddof=0).solve_power(nobs1=1, alpha=level, power=power, ratio=0) * error)
