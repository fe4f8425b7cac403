"""The languages in the space of the vectors: two principal components, and how well a vector reveals its language."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.pool import Pool
from ...system.types import Floats

# Number of points per language and kind that a figure shows.
POINTS = 60
HOLDOUT = 1 / 3
# Numbers of unit vectors that differ by less count as the same.
SAME = 1e-6


@dataclass(frozen=True)
class Projection:
    """Vectors in the plane.

    Attributes:
        explained: Share of the variance along each axis.
        points: `{language: {"questions": [[x, y]], "candidates": [[x, y]]}}`.
    """

    explained: list[float]
    points: dict[str, dict[str, list[list[float]]]]


@dataclass(frozen=True)
class Identification:
    """Accuracy in telling the language of a vector.

    Attributes:
        accuracy: Accuracy among all languages; None if there are too few vectors.
        against: `{language: accuracy against the pivot}`, None if there are too few vectors.
    """

    accuracy: float | None
    chance: float
    pivot: str
    against: dict[str, float | None]


def project(questions: Floats, candidates: Floats, pool: Pool, points: int = POINTS, seed: int = 0) -> Projection:
    """Project questions and candidates on their first two principal components (LAReQA, Figure 5).

    Each component has the sign that makes its largest weight positive.

    Args:
        questions: Float array `(q, d)`.
        candidates: Float array `(c, d)`.
        points: Number of points per language and kind to choose at most.
    """
    from sklearn.decomposition import PCA

    # Of vectors that are all one, scikit-learn divides no variance by none; the shares below are ours.
    with np.errstate(invalid="ignore"):
        pca = PCA(2, svd_solver="covariance_eigh").fit(np.concatenate([questions, candidates]))
    random = np.random.default_rng(seed)
    sets = {"questions": (questions, pool.asked_in), "candidates": (candidates, pool.language_of)}
    shown = {
        language: {
            kind: _points(pca, vectors[languages == number], points, random)
            for kind, (vectors, languages) in sets.items()
        }
        for number, language in enumerate(pool.languages)
    }
    return Projection(variance_shares(pca.explained_variance_, questions, candidates), shown)


def has_variance(*parts: Floats) -> bool:
    """Return True if not all rows of the `(n, d)` parts are the same, so that they have principal components."""
    return any(np.ptp(column) > SAME for column in np.concatenate(parts).T)


def variance_shares(variances: Floats, *parts: Floats) -> list[float]:
    """Return the share of each variance in the whole variance of the `(n, d)` parts together.

    `parts` are float arrays `(n, d)`. Returns the shares; 0 if there is no variance.
    """
    total = float(np.concatenate(parts).var(axis=0, ddof=1).sum())
    return [float(variance) / total if total else 0.0 for variance in variances]


def _points(pca, vectors, points, random):
    chosen = np.sort(random.permutation(len(vectors))[:points])
    return [[round(float(x), 4), round(float(y), 4)] for x, y in pca.transform(vectors[chosen])]


def identify(
    questions: Floats, candidates: Floats, pool: Pool, pivot: str | None = None, seed: int = 0
) -> Identification | None:
    """Tell the language of a vector by logistic regression (LAReQA, section 5.4).

    Accuracy is measured on a third that is held out, the same share of each language. `pivot` is the language that
    others are told from; None for the first. Returns the accuracies; None if there is only one language.
    """
    if len(pool.languages) < 2:
        return None
    vectors, labels = np.concatenate([questions, candidates]), np.concatenate([pool.asked_in, pool.language_of])
    pivot = pivot if pivot and pivot in pool.languages else pool.languages[0]
    first = pool.languages.index(pivot)
    against = {}
    for number, language in enumerate(pool.languages):
        if number != first:
            rows = (labels == number) | (labels == first)
            against[language] = _accuracy(vectors[rows], labels[rows], seed)
    chance = float(np.bincount(labels).max() / len(labels))
    return Identification(_accuracy(vectors, labels, seed), chance, pivot, against)


def _accuracy(vectors, labels, seed):
    counts = np.unique(labels, return_counts=True)[1]
    if counts.min() < 2 or HOLDOUT * len(labels) < len(counts):
        return None
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    parts = train_test_split(vectors, labels, test_size=HOLDOUT, random_state=seed, stratify=labels)
    train, test, train_labels, test_labels = parts
    model = LogisticRegression(max_iter=1000).fit(train, train_labels)
    return float(model.score(test, test_labels))
