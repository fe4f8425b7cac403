"""The probability that the first passage of a ranking answers, fitted by scikit-learn, and how well it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from ..errors import DataError
from ..export.encode import Calibration, compared, smallness
from ..settings.choices import PASSAGE_SCORES
from ..system.types import Booleans, Doubles, Json
from .evaluate import rank_questions
from .unanswerable import WHOLE, Cases, EncodedSplit, paired_cases, units_of

# The largest share of right first passages of which nothing may be said to be found, in a collection of any size.
MOST_MISSED = 0.035
# Points of the line from evidence to probability, and bins of the expected calibration error.
POINTS, BINS = 12, 10
# A fit needs at least so many right and so many wrong cases.
MIN_CASES = 100
# Steps of a risk-coverage curve.
STEPS = 20
# Numbers of passages that collections are cut to for a fit, which also sees the whole.
SIZES = (10, 30, 100, 300)
# The weights of a passage's own vector beside its best sentence that are tried.
WEIGHTS = (0.25, 0.35, 0.5, 0.7, 1.0)
# The typical spread of a score, of a margin between scores and of how small a collection is, which scales the features.
SCALE = np.array([0.3, 0.1, 0.4])


@dataclass(frozen=True)
class CalibrationFit:
    """A fitted calibration, with the fields of `Calibration` in export/encode.py."""

    best: float
    margin: float
    few: float
    usual: float
    at: list[float]
    probability: list[float]
    threshold: float

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
        right: Share of the cases whose first passage answers.
        auroc: Area under the ROC curve; None if all cases are right or all are wrong.
        curve: `[coverage, risk]` pairs: the share of wrong cases among the most confident share of all cases.
        ece: Expected calibration error; None if the confidence is no probability.
        threshold: The probability below which nothing is found; None if the confidence is no probability.
        answered: Share of the cases at or above the threshold; None without a threshold.
        precision: Share of right cases among the answered ones; None if none is answered.
        missed: Share of the right cases below the threshold; None if none is right.
        told: Share of the cases without their documents below the threshold; None without such cases.
    """

    cases: int
    right: float
    auroc: float | None
    curve: list[list[float]]
    ece: float | None = None
    threshold: float | None = None
    answered: float | None = None
    precision: float | None = None
    missed: float | None = None
    told: float | None = None

    def as_dict(self) -> dict[str, Json]:
        return asdict(self)


def fit_calibration(cases: Cases, missed: float = MOST_MISSED) -> CalibrationFit:
    """Fit a calibration; each language has the same weight.

    The threshold is the highest below which lie at most `missed` of the right cases among collections of any size in
    `SIZES`, and of larger ones.
    """
    require_enough(cases)
    line = _line(cases)
    known, right, weights = line.calibration.probabilities(cases.first, cases.passages), cases.right, _weights(cases)
    size = np.searchsorted(SIZES, cases.passages)
    parts = [right & (size == one) for one in np.unique(size[right])]
    threshold = min(choose_threshold(known[rows], weights[rows], missed) for rows in parts)
    # Rounded down, so that no case that reached it falls below.
    return replace(line, threshold=float(np.floor(threshold * 1e4) / 1e4))


def fit_passage_weight(collections: Sequence[EncodedSplit], weights: Sequence[float] = WEIGHTS) -> float:
    """Return the weight with the highest mean reciprocal rank by the score "sum", the greatest of equal ones.

    Each collection counts alike, and in it each language: its questions are often the same, and what differs between
    collections, such as the length of passages, is what the weight depends on.
    """
    means = {weight: float(np.mean([mean_reciprocal_rank(one, weight) for one in collections])) for weight in weights}
    return max(means, key=lambda weight: (means[weight], weight))


def mean_reciprocal_rank(encoded: EncodedSplit, weight: float) -> float:
    """Return the mean over languages of 1 / the rank of the passage that answers, by the score "sum" with a weight."""
    [unit] = units_of(["sum"])
    ranks = rank_questions(encoded.questions, encoded.vectors, encoded.dataset, encoded.split, (unit,), weight)
    return float(np.mean([np.mean(1 / places) for places in ranks[unit].values()]))


def fit_scores(
    encoded: EncodedSplit, scores: Sequence[str] = PASSAGE_SCORES, seed: int = 0
) -> dict[str, CalibrationFit]:
    """Fit a calibration for each score, on questions with and without their articles."""
    return {score: fit_calibration(paired_cases(encoded, score, (*SIZES, WHOLE), seed)) for score in scores}


def as_card_entry(fits: Mapping[str, CalibrationFit], encoded: EncodedSplit) -> dict[str, Json]:
    """Return the entry of a card about answers: the calibrations and the data that they were fitted on."""
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
    values = *compared(cases.first.astype(np.float64), usual), smallness(cases.passages)
    features = np.nan_to_num(np.stack(values, axis=1), nan=-1.0)
    model = LogisticRegression(C=100.0, max_iter=1000).fit(features / SCALE, cases.right, sample_weight=weights)
    best, margin, few = _round_values(model.coef_[0] / SCALE)
    at, probability = _points(features @ np.array([best, margin, few]), cases.right, weights)
    smooth = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(at, probability)
    return CalibrationFit(best, margin, few, usual, _round_values(at), _round_values(smooth), 1.0)


def _round_values(values):
    return [round(float(value), 6) for value in values]


def _weights(cases: Cases) -> Doubles:
    """Return weights `(n,)` of mean 1 that count each language alike."""
    languages = np.unique(cases.language, return_inverse=True)[1]
    weights = 1 / np.bincount(languages)[languages]
    return weights / weights.mean()


def _points(evidence, right, weights):
    """Return the mean evidence and the share of right cases in `POINTS` parts of equal size, ordered by evidence."""
    edges = np.quantile(evidence, np.linspace(0, 1, POINTS + 1)[1:-1])
    part = np.searchsorted(edges, evidence)
    whole = np.bincount(part, weights, POINTS)
    known = whole > 0
    sums = [np.bincount(part, weights * values, POINTS)[known] for values in (evidence, right)]
    return tuple(values / whole[known] for values in sums)


def choose_threshold(probability: Doubles, weights: Doubles, missed: float) -> float:
    """Return the highest threshold below which lies at most a weighted share of the cases."""
    order = np.argsort(probability, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    # Rounding must not count the last of the share as more than that.
    return float(probability[order][np.searchsorted(reached, missed + 1e-9, side="right")])


def confidence_figures(cases: Cases, confidence: Doubles, threshold: float | None = None) -> ConfidenceFigures:
    """Return the figures of a confidence; those of a probability only with a threshold."""
    right = cases.right
    curve = risk_coverage(confidence, right)
    known = ConfidenceFigures(len(right), float(right.mean()), auroc(confidence, right), curve)
    if threshold is None:
        return known
    answered = confidence >= threshold
    return replace(
        known,
        ece=calibration_error(confidence, right),
        threshold=threshold,
        answered=float(answered.mean()),
        precision=_share(right[answered]),
        missed=_share(~answered[right]),
        told=_share(~answered[~cases.there]),
    )


def _share(values):
    return float(values.mean()) if len(values) else None


def calibration_error(probability: Doubles, right: Booleans, bins: int = BINS) -> float:
    """Return the expected calibration error (Guo et al., 2017): the mean gap of probability and accuracy over bins."""
    place = np.minimum((probability * bins).astype(int), bins - 1)
    apart = np.bincount(place, probability - right, bins)
    return float(np.abs(apart).sum() / len(right))


def auroc(confidence: Doubles, right: Booleans) -> float | None:
    """Return the share of pairs in which a right case has a greater confidence than a wrong one; ties count half."""
    ones = int(right.sum())
    zeros = len(right) - ones
    if not ones or not zeros:
        return None
    _, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((rank[right].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def risk_coverage(confidence: Doubles, right: Booleans, steps: int = STEPS) -> list[list[float]]:
    """Return the `[coverage, risk]` points of a risk-coverage curve (El-Yaniv and Wiener, 2010), up to coverage 1."""
    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(~right[order])
    counts = np.unique(np.ceil(len(right) * np.arange(1, steps + 1) / steps).astype(int))
    return [[count / len(right), float(wrong[count - 1] / count)] for count in counts.tolist()]


def figures_by_language(
    cases: Cases, confidence: Doubles, threshold: float | None = None
) -> Mapping[str, ConfidenceFigures]:
    """Return the figures of each language and, under "all", of all together: `{language: figures}`."""
    languages = dict.fromkeys(cases.language.tolist())
    parts = {language: cases.language == language for language in languages}
    return {
        **{name: confidence_figures(cases.of(rows), confidence[rows], threshold) for name, rows in parts.items()},
        "all": confidence_figures(cases, confidence, threshold),
    }
