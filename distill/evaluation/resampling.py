"""Tests and intervals of a mean difference by question: all translations of a question go together.

Everywhere: `differences`, float `(n,)`, of two encoders' scores on n questions; `ids`, `(n,)`, the same for
translations of one question, which make a cluster. Translations tend to be right or wrong together; n of them are
not n independent questions, so what is flipped, drawn or counted is the cluster.

`scipy.stats.permutation_test` and `bootstrap` compute the same, but hold all draws at once or take many times as long,
refuse a single cluster, and have NaN for an interval of effect sizes some of which are infinite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..system.types import Doubles, Integers

# Up to here all 2^c signs are enumerated; more are drawn.
EXACT_UP_TO = 13
# Cells of a block of draws x clusters held at once.
BLOCK = 1 << 20
# Relative: sums of equal terms in another order differ by this at most.
ROUNDING = 1e-12


def clusters(differences: ArrayLike, ids: Sequence[str]) -> tuple[Doubles, Integers]:
    """(sums float `(c,)`, counts int `(c,)`) of the differences by id, in the ids' order."""
    _, cluster = np.unique(np.asarray(ids), return_inverse=True)
    sums = np.bincount(cluster, weights=np.asarray(differences))
    return sums.astype(np.float64, copy=False), np.bincount(cluster).astype(np.int64, copy=False)


def sign_flip_p(differences: ArrayLike, ids: Sequence[str], draws: int = 10_000, seed: int = 0) -> float:
    """Two-sided p of the mean difference: how often random signs of the clusters give one as far from 0, or farther.

    Exact where at most 13 clusters have a sum other than 0, which alone matter; else `draws` random signs and
    (hits + 1) / (draws + 1), Phipson & Smyth (2010). Fisher's randomisation test.
    """
    sums = _not_zero(differences, ids)
    if not len(sums):
        return 1.0
    least = abs(sums.sum()) - ROUNDING * np.abs(sums).sum()
    if len(sums) <= EXACT_UP_TO:
        return float(np.mean(np.abs(_flipped(_all_bits(len(sums)), sums)) >= least))
    random = np.random.default_rng(seed)
    bits = (random.integers(0, 2, (rows, len(sums)), dtype=np.uint8) for rows in _blocks(draws, len(sums)))
    hits = sum(np.count_nonzero(np.abs(_flipped(block, sums)) >= least) for block in bits)
    return float((hits + 1) / (draws + 1))


def _not_zero(differences, ids):
    sums, _ = clusters(differences, ids)
    sizes, _ = clusters(np.abs(differences), ids)
    return sums[np.abs(sums) > ROUNDING * sizes]


def _all_bits(count):
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


def _flipped(bits, sums):
    """The sum under each row of signs, a bit 1 for + and 0 for -."""
    return 2 * (bits @ sums) - sums.sum()


def _blocks(draws, columns):
    """Numbers of rows that add up to `draws`, each small enough to be held."""
    rows = max(1, BLOCK // columns)
    return [min(rows, draws - start) for start in range(0, draws, rows)]


def effect_size(differences: ArrayLike, ids: Sequence[str]) -> float:
    """d_z: the mean over clusters of a cluster's mean difference, in standard deviations (c - 1) of these means.

    Each question has the same weight, however many translations it has. 0 where nothing differs; infinite where all
    clusters differ by the same.
    """
    sums, counts = clusters(differences, ids)
    means = sums / counts
    return float(_standardised(means.mean(), means.var(ddof=len(means) > 1), means))


def _standardised(mean, variance, means):
    """Mean by deviation, of `means` or of resamples of them; never NaN."""
    mean = np.where(np.abs(mean) <= ROUNDING * np.max(np.abs(means)), 0.0, mean)
    deviation = np.sqrt(np.where(variance <= ROUNDING * np.max(np.square(means)), 0.0, variance))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / deviation)


def bootstrap(
    differences: ArrayLike, ids: Sequence[str], draws: int = 10_000, seed: int = 0, level: float = 0.95
) -> tuple[tuple[float, float], tuple[float, float]]:
    """((low, high) of the mean difference, (low, high) of its effect size): percentile intervals.

    Clusters are drawn with replacement, each with all its translations; the mean is the sum of differences by the
    number of questions drawn. Efron & Tibshirani (1993), chapter 13.
    """
    sums, counts = clusters(differences, ids)
    means, number = sums / counts, len(sums)
    centre = means.mean()  # off the squares, which would cancel
    columns = np.stack([sums, counts, means - centre, np.square(means - centre)], axis=1)
    drawn = np.concatenate([weights @ columns for weights in _resamples(number, draws, seed)])
    total, questions, shift, square = drawn.T
    variance = (square - shift**2 / number) / max(number - 1, 1)
    effects = _standardised(centre + shift / number, variance, means)
    return _ends(total / questions, level), _ends(effects, level)


def _resamples(number, draws, seed):
    """Blocks `(rows, number)`: how often each cluster was drawn."""
    random = np.random.default_rng(seed)
    for rows in _blocks(draws, number):
        cells = random.integers(number, size=(rows, number)) + number * np.arange(rows)[:, None]
        yield np.bincount(cells.ravel(), minlength=rows * number).reshape(rows, number).astype(float)


def _ends(values, level):
    """The two percentiles, values that occurred: between a finite and an infinite one there is nothing."""
    places = np.rint((len(values) - 1) * np.array([(1 - level) / 2, (1 + level) / 2])).astype(int)
    low, high = np.sort(values)[places]
    return float(low), float(high)


def standard_error(differences: ArrayLike, ids: Sequence[str]) -> float:
    """Of the mean difference, from the deviation between clusters; NaN for one cluster.

    The ratio estimator's (Cochran 1977, 6.4); with n translations of each question it is the deviation of the
    clusters' means by the root of their number.
    """
    sums, counts = clusters(differences, ids)
    if len(sums) < 2:
        return float("nan")
    residuals = sums - counts * (sums.sum() / counts.sum())
    return float(np.sqrt(len(sums) / (len(sums) - 1) * np.sum(residuals**2)) / counts.sum())


def detectable(differences: ArrayLike, ids: Sequence[str], level: float = 0.05, power: float = 0.8) -> float | None:
    """Return the smallest true mean difference that such a test set shows with this power at this two-sided level.

    It is statsmodels' normal power for one sample, with the deviation observed. For Holm over m tests the strictest
    level is level / m. It is None where no deviation was observed: fewer than two clusters, or all the same.
    """
    error = standard_error(differences, ids)
    if not error > ROUNDING * np.max(np.abs(differences)):
        return None
    from statsmodels.stats.power import NormalIndPower

    # With a ratio of 0 there is one sample; of one observation, so that its deviation is the standard error.
    return float(NormalIndPower(ddof=0).solve_power(nobs1=1, alpha=level, power=power, ratio=0) * error)
