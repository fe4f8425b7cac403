"""How likely a ranking's first passage answers the question: fitted by scikit-learn, and how well that holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..export.encode import Calibration, compared
from ..settings.choices import PASSAGE_SCORES
from ..system.types import Booleans, Doubles, Json
from .unanswerable import Cases, Encoded, with_and_without

# Of questions whose first passage is taken for an answer, the share where it is to be one.
PROMISE = 0.8
# Points of the line from z to probability, and bins of the expected calibration error.
POINTS, BINS = 12, 10
# Fewest cases of either kind that a fit takes.
FEWEST = 100
# Points of a curve of risk and coverage.
STEPS = 20
# Other articles that are searched, by their share: collections of several sizes.
SHARES = (1.0, 0.5, 0.1)
FOLDS = 5
# Scores and their differences, of which these are about a spread.
SCALE = np.array([0.3, 0.1])


@dataclass(frozen=True)
class Fit:
    """The fields of a `Calibration` (export/encode.py): see there."""

    best: float
    margin: float
    usual: float
    at: list[float]
    probability: list[float]
    threshold: float
    precision: float

    @property
    def calibration(self) -> Calibration:
        """The probabilities by these fields."""
        return Calibration(asdict(self))  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, Json]:
        """The fields as a card has them."""
        return asdict(self)


@dataclass(frozen=True)
class Judged:
    """The figures of a confidence on cases: `auroc` that the first passage answers, None where all or none are right.

    `curve` has `[coverage, risk]`: of the most confident share of the questions, how many are not answered rightly.
    `ece` is the expected calibration error; `answered`, the share of cases at the threshold or above, and `precision`,
    the share of these that are right: None without a probability, the last one where none is answered.
    """

    cases: int
    right: float
    auroc: float | None
    curve: list[list[float]]
    ece: float | None = None
    threshold: float | None = None
    answered: float | None = None
    precision: float | None = None

    def as_dict(self) -> dict[str, Json]:
        """Plain values."""
        return asdict(self)


def fit(cases: Cases, promise: float = PROMISE) -> Fit:
    """Return what is fitted on cases, each language and each share of the articles alike.

    The threshold is the least probability from which on the cases with all articles, each judged by a fit on other
    questions, are right in `promise` of all; where none is, it is that of the surest case. Raises `DataError` where
    fewer than `FEWEST` cases are right, or wrong.
    """
    require_enough(cases)
    line, held = _line(cases), probabilities_without(cases, cases.question % FOLDS)
    whole = cases.share == cases.share.max()
    threshold, precision = threshold_of(held[whole], cases.right[whole], _weights(cases)[whole], promise)
    return Fit(**{**line.as_dict(), "threshold": round(threshold, 4), "precision": round(precision, 4)})


def probabilities_without(cases: Cases, part: NDArray[np.generic]) -> Doubles:
    """Return the probability of each case `(n,)` by a fit on those of other parts; `part` `(n,)` tells them."""
    held = np.zeros(len(cases))
    for one in np.unique(part):
        rows = part == one
        held[rows] = _line(cases.of(~rows)).calibration.probabilities(cases.first[rows])
    return held


def fit_scores(encoded: Encoded, scores: Sequence[str] = PASSAGE_SCORES, seed: int = 0) -> dict[str, Fit]:
    """Return a fit for each score, on the questions with and without their articles among collections of `SHARES`."""
    return {score: fit(with_and_without(encoded, score, SHARES, seed)) for score in scores}


def said(fits: Mapping[str, Fit], encoded: Encoded) -> dict[str, Json]:
    """Return what a card says of answers: the fits, and what they were fitted on."""
    counts = {language: len(questions) for language, questions in encoded.questions.items()}
    data: dict[str, Json] = {"dataset": encoded.dataset.name, "split": encoded.split, "questions": counts}
    return {"scores": {score: one.as_dict() for score, one in fits.items()}, **data}


def require_enough(cases: Cases) -> None:
    """Raise `DataError` for too few cases to fit on."""
    right = int(cases.right.sum())
    if min(right, len(cases) - right) < FEWEST:
        raise DataError(f"{right} right of {len(cases)} cases; {FEWEST} right and as many wrong ones are needed")


def _line(cases: Cases) -> Fit:
    """A fit without threshold: weights by logistic regression, then the probability by isotonic regression."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    weights, usual = _weights(cases), round(float(np.nanmean(cases.first[:, 1:])), 6)
    features = np.nan_to_num(np.stack(compared(cases.first.astype(np.float64), usual), axis=1), nan=-1.0)
    model = LogisticRegression(C=100.0, max_iter=1000).fit(features / SCALE, cases.right, sample_weight=weights)
    best, margin = _rounded(model.coef_[0] / SCALE)
    at, probability = _points(best * features[:, 0] + margin * features[:, 1], cases.right, weights)
    smooth = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(at, probability)
    return Fit(best, margin, usual, _rounded(at), _rounded(smooth), 1.0, 1.0)


def _rounded(values):
    return [round(float(value), 6) for value in values]


def _weights(cases: Cases) -> Doubles:
    """Weights `(n,)`, of mean 1, by which each language counts alike at each share."""
    languages = np.unique(cases.language, return_inverse=True)[1]
    shares = np.unique(cases.share, return_inverse=True)[1]
    group = languages * (shares.max(initial=0) + 1) + shares
    weights = 1 / np.bincount(group)[group]
    return weights / weights.mean()


def _points(evidence, right, weights):
    """The mean evidence and the share of right cases of `POINTS` parts with as many cases each, by their evidence."""
    edges = np.quantile(evidence, np.linspace(0, 1, POINTS + 1)[1:-1])
    part = np.searchsorted(edges, evidence)
    whole = np.bincount(part, weights, POINTS)
    known = whole > 0
    sums = [np.bincount(part, weights * values, POINTS)[known] for values in (evidence, right)]
    return tuple(values / whole[known] for values in sums)


def threshold_of(probability: Doubles, right: Booleans, weights: Doubles, promise: float) -> tuple[float, float]:
    """Return the least probability from which on `promise` of all are right, and what share of these that is.

    The share is a mean by weight. Where it is reached nowhere: the greatest probability, and its share.
    """
    order = np.argsort(-probability, kind="stable")
    values, counted = probability[order], weights[order]
    shares = np.cumsum(counted * right[order]) / np.cumsum(counted)
    # The last of equal probabilities: all of them are answered.
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    reached = last[shares[last] >= promise]
    place = reached[-1] if len(reached) else last[0]
    return float(values[place]), float(shares[place])


def judged(confidence: Doubles, right: Booleans, threshold: float | None = None) -> Judged:
    """Return the figures of a confidence, `(n,)`: a probability where there is a `threshold`."""
    known = Judged(len(right), float(right.mean()), auroc(confidence, right), risk_coverage(confidence, right))
    if threshold is None:
        return known
    answered = confidence >= threshold
    precision = float(right[answered].mean()) if answered.any() else None
    of_probability = {"ece": calibration_error(confidence, right), "threshold": threshold}
    return Judged(**{**asdict(known), **of_probability, "answered": float(answered.mean()), "precision": precision})


def calibration_error(probability: Doubles, right: Booleans, bins: int = BINS) -> float:
    """Return the expected calibration error (Guo et al., 2017): the mean distance of probability and share by bins."""
    place = np.minimum((probability * bins).astype(int), bins - 1)
    apart = np.bincount(place, probability - right, bins)
    return float(np.abs(apart).sum() / len(right))


def auroc(confidence: Doubles, right: Booleans) -> float | None:
    """Return how often a right case has a greater confidence than a wrong one, equal ones counting half."""
    ones = int(right.sum())
    zeros = len(right) - ones
    if not ones or not zeros:
        return None
    _, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((rank[right].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def risk_coverage(confidence: Doubles, right: Booleans, steps: int = STEPS) -> list[list[float]]:
    """Return `[coverage, risk]` (El-Yaniv and Wiener, 2010) at `steps` coverages, the last one 1."""
    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(~right[order])
    counts = np.unique(np.ceil(len(right) * np.arange(1, steps + 1) / steps).astype(int))
    return [[count / len(right), float(wrong[count - 1] / count)] for count in counts.tolist()]


def by_language(cases: Cases, confidence: Doubles, threshold: float | None = None) -> Mapping[str, Judged]:
    """The figures of each language, and of `all` together."""
    languages = dict.fromkeys(cases.language.tolist())
    parts = {language: cases.language == language for language in languages}
    return {
        **{name: judged(confidence[rows], cases.right[rows], threshold) for name, rows in parts.items()},
        "all": judged(confidence, cases.right, threshold),
    }
