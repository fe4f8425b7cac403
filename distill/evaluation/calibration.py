"""The probability that the first passage of a ranking answers, fitted by scikit-learn, and how well it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..export.encode import Calibration, compared
from ..settings.choices import PASSAGE_SCORES
from ..system.types import Booleans, Doubles, Json
from .unanswerable import Cases, EncodedSplit, paired_cases

# The share of the accepted first passages that should really be answers.
TARGET_PRECISION = 0.8
# Points of the line from evidence to probability, and bins of the expected calibration error.
POINTS, BINS = 12, 10
# A fit needs at least so many right and so many wrong cases.
MIN_CASES = 100
# Points of a risk-coverage curve.
STEPS = 20
# Shares of the other articles that are searched, so that collections of several sizes are covered.
SHARES = (1.0, 0.5, 0.1)
FOLDS = 5
# The typical spread of a score and of a margin between scores, which scales the features.
SCALE = np.array([0.3, 0.1])


@dataclass(frozen=True)
class CalibrationFit:
    """A fitted calibration, with the fields of `Calibration` in export/encode.py."""

    best: float
    margin: float
    usual: float
    at: list[float]
    probability: list[float]
    threshold: float
    precision: float

    @property
    def calibration(self) -> Calibration:
        """Return the function from scores to probabilities that these fields describe."""
        return Calibration(asdict(self))  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, Json]:
        """Return the fields as a card stores them."""
        return asdict(self)


@dataclass(frozen=True)
class ConfidenceFigures:
    """Figures of how well a confidence tells right from wrong cases.

    Attributes:
        cases: Number of cases.
        right: Share of the cases whose first passage answers.
        auroc: Area under the ROC curve; None if all cases are right or all are wrong.
        curve: `[coverage, risk]` pairs: the share of wrong cases among the most confident share of all cases.
        ece: Expected calibration error; None if the confidence is no probability.
        threshold: Least probability that counts as an answer; None if the confidence is no probability.
        answered: Share of the cases at or above the threshold; None without a threshold.
        precision: Share of right cases among the answered ones; None if none is answered.
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
        """Return plain values."""
        return asdict(self)


def fit_calibration(cases: Cases, promise: float = TARGET_PRECISION) -> CalibrationFit:
    """Fit a calibration; each language, and each share of the articles, has the same weight.

    The threshold is the least probability from which on `promise` of the cases with all articles are right. Each case
    is judged by a fit on other questions. If no probability reaches the promise, the threshold is that of the most
    certain case.

    Args:
        cases: Rankings, each right or wrong.
        promise: The share of right cases above the threshold, in [0, 1].

    Returns:
        The calibration, with its threshold and its precision there.

    Raises:
        DataError: If there are too few right or too few wrong cases.
    """
    require_enough(cases)
    line, held = _line(cases), held_out_probabilities(cases, cases.question % FOLDS)
    whole = cases.share == cases.share.max()
    threshold, precision = choose_threshold(held[whole], cases.right[whole], _weights(cases)[whole], promise)
    return CalibrationFit(**{**line.as_dict(), "threshold": round(threshold, 4), "precision": round(precision, 4)})


def held_out_probabilities(cases: Cases, part: NDArray[np.generic]) -> Doubles:
    """Return the probability of each case from a fit on the cases of the other parts.

    Args:
        cases: The cases, n in number.
        part: Array `(n,)` that names the part of each case.

    Returns:
        Float array `(n,)`.
    """
    held = np.zeros(len(cases))
    for one in np.unique(part):
        rows = part == one
        held[rows] = _line(cases.of(~rows)).calibration.probabilities(cases.first[rows])
    return held


def fit_scores(
    encoded: EncodedSplit, scores: Sequence[str] = PASSAGE_SCORES, seed: int = 0
) -> dict[str, CalibrationFit]:
    """Fit a calibration for each score, on questions with and without their articles.

    Args:
        encoded: Encoded questions and texts of a split.
        scores: Names in `choices.PASSAGE_SCORES`.
        seed: Seed of the articles that are left out.

    Returns:
        `{score: calibration}`.
    """
    return {score: fit_calibration(paired_cases(encoded, score, SHARES, seed)) for score in scores}


def as_card_entry(fits: Mapping[str, CalibrationFit], encoded: EncodedSplit) -> dict[str, Json]:
    """Return the entry of a card about answers: the calibrations and the data that they were fitted on.

    Args:
        fits: `{score: calibration}`.
        encoded: The questions and texts that were fitted on.

    Returns:
        Plain values.
    """
    counts = {language: len(questions) for language, questions in encoded.questions.items()}
    data: dict[str, Json] = {"dataset": encoded.dataset.name, "split": encoded.split, "questions": counts}
    return {"scores": {score: one.as_dict() for score, one in fits.items()}, **data}


def require_enough(cases: Cases) -> None:
    """Raise `DataError` if there are too few cases to fit on."""
    right = int(cases.right.sum())
    if min(right, len(cases) - right) < MIN_CASES:
        raise DataError(f"{right} right of {len(cases)} cases; {MIN_CASES} right and as many wrong ones are needed")


def _line(cases: Cases) -> CalibrationFit:
    """Fit the weights by logistic regression and the probability by isotonic regression, without a threshold."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    weights, usual = _weights(cases), round(float(np.nanmean(cases.first[:, 1:])), 6)
    features = np.nan_to_num(np.stack(compared(cases.first.astype(np.float64), usual), axis=1), nan=-1.0)
    model = LogisticRegression(C=100.0, max_iter=1000).fit(features / SCALE, cases.right, sample_weight=weights)
    best, margin = _round_values(model.coef_[0] / SCALE)
    at, probability = _points(best * features[:, 0] + margin * features[:, 1], cases.right, weights)
    smooth = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(at, probability)
    return CalibrationFit(best, margin, usual, _round_values(at), _round_values(smooth), 1.0, 1.0)


def _round_values(values):
    return [round(float(value), 6) for value in values]


def _weights(cases: Cases) -> Doubles:
    """Return weights `(n,)` of mean 1 that count each language alike at each share."""
    languages = np.unique(cases.language, return_inverse=True)[1]
    shares = np.unique(cases.share, return_inverse=True)[1]
    group = languages * (shares.max(initial=0) + 1) + shares
    weights = 1 / np.bincount(group)[group]
    return weights / weights.mean()


def _points(evidence, right, weights):
    """Return the mean evidence and the share of right cases in `POINTS` parts of equal size, ordered by evidence."""
    edges = np.quantile(evidence, np.linspace(0, 1, POINTS + 1)[1:-1])
    part = np.searchsorted(edges, evidence)
    whole = np.bincount(part, weights, POINTS)
    known = whole > 0
    sums = [np.bincount(part, weights * values, POINTS)[known] for values in (evidence, right)]
    return tuple(values / whole[known] for values in sums)


def choose_threshold(probability: Doubles, right: Booleans, weights: Doubles, promise: float) -> tuple[float, float]:
    """Return the least probability from which on the promised share of the cases is right.

    Args:
        probability: Float array `(n,)`.
        right: Boolean array `(n,)`.
        weights: Float array `(n,)`, the weight of each case in the share.
        promise: The share to reach, in [0, 1].

    Returns:
        The threshold and the share of right cases there. If no threshold reaches the promise, the greatest probability
        and its share.
    """
    order = np.argsort(-probability, kind="stable")
    values, counted = probability[order], weights[order]
    shares = np.cumsum(counted * right[order]) / np.cumsum(counted)
    # Equal probabilities are answered together, so only the last of them can be a threshold.
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    reached = last[shares[last] >= promise]
    place = reached[-1] if len(reached) else last[0]
    return float(values[place]), float(shares[place])


def confidence_figures(confidence: Doubles, right: Booleans, threshold: float | None = None) -> ConfidenceFigures:
    """Return the figures of a confidence.

    Args:
        confidence: Float array `(n,)`.
        right: Boolean array `(n,)`.
        threshold: Least probability that counts as an answer; None if the confidence is no probability.

    Returns:
        The figures; those of a probability only with a threshold.
    """
    known = ConfidenceFigures(
        len(right), float(right.mean()), auroc(confidence, right), risk_coverage(confidence, right)
    )
    if threshold is None:
        return known
    answered = confidence >= threshold
    precision = float(right[answered].mean()) if answered.any() else None
    of_probability = {"ece": calibration_error(confidence, right), "threshold": threshold}
    return ConfidenceFigures(
        **{**asdict(known), **of_probability, "answered": float(answered.mean()), "precision": precision}
    )


def calibration_error(probability: Doubles, right: Booleans, bins: int = BINS) -> float:
    """Return the expected calibration error (Guo et al., 2017): the mean gap of probability and accuracy over bins.

    Args:
        probability: Float array `(n,)` in [0, 1].
        right: Boolean array `(n,)`.
        bins: Number of bins of equal width.

    Returns:
        A value in [0, 1].
    """
    place = np.minimum((probability * bins).astype(int), bins - 1)
    apart = np.bincount(place, probability - right, bins)
    return float(np.abs(apart).sum() / len(right))


def auroc(confidence: Doubles, right: Booleans) -> float | None:
    """Return the share of pairs in which a right case has a greater confidence than a wrong one.

    Args:
        confidence: Float array `(n,)`; equal values count half.
        right: Boolean array `(n,)`.

    Returns:
        A value in [0, 1]; None if all cases are right or all are wrong.
    """
    ones = int(right.sum())
    zeros = len(right) - ones
    if not ones or not zeros:
        return None
    _, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((rank[right].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def risk_coverage(confidence: Doubles, right: Booleans, steps: int = STEPS) -> list[list[float]]:
    """Return the points of a risk-coverage curve (El-Yaniv and Wiener, 2010).

    Args:
        confidence: Float array `(n,)`.
        right: Boolean array `(n,)`.
        steps: Number of coverages, the last of which is 1.

    Returns:
        `[coverage, risk]` pairs.
    """
    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(~right[order])
    counts = np.unique(np.ceil(len(right) * np.arange(1, steps + 1) / steps).astype(int))
    return [[count / len(right), float(wrong[count - 1] / count)] for count in counts.tolist()]


def figures_by_language(
    cases: Cases, confidence: Doubles, threshold: float | None = None
) -> Mapping[str, ConfidenceFigures]:
    """Return the figures of each language and, under "all", of all together.

    Args:
        cases: The cases, n in number.
        confidence: Float array `(n,)`.
        threshold: Least probability that counts as an answer; None if the confidence is no probability.

    Returns:
        `{language: figures}`.
    """
    languages = dict.fromkeys(cases.language.tolist())
    parts = {language: cases.language == language for language in languages}
    return {
        **{name: confidence_figures(confidence[rows], cases.right[rows], threshold) for name, rows in parts.items()},
        "all": confidence_figures(confidence, cases.right, threshold),
    }
