"""The languages in the vectors' space: two principal components, and how well a language is told from a vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.pool import Pool
from ...system.types import Floats

# Points of a language and kind that a figure shows.
POINTS = 60
HOLDOUT = 1 / 3
# Numbers of unit vectors that differ by less are the same.
SAME = 1e-6


@dataclass(frozen=True)
class Projection:
    """Vectors in the plane: `points[language]`, `{"questions": [[x, y]], "candidates": [[x, y]]}`.

    `explained` is the share of the variance along either axis.
    """

    explained: list[float]
    points: dict[str, dict[str, list[list[float]]]]


@dataclass(frozen=True)
class Identification:
    """Accuracy in telling a vector's language: among all, `chance` the largest one's share, and `against` the pivot.

    An accuracy is None where there are too few vectors for it.
    """

    accuracy: float | None
    chance: float
    pivot: str
    against: dict[str, float | None]


def project(questions: Floats, candidates: Floats, pool: Pool, points: int = POINTS, seed: int = 0) -> Projection:
    """LAReQA, Figure 5: the first two principal components of all questions and candidates.

    At most `points` of each language and kind, a seeded choice. A component's sign is such that its largest weight is
    positive.
    """
    from sklearn.decomposition import PCA

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
    return Projection(shares(pca.explained_variance_, questions, candidates), shown)


def vary(*parts: Floats) -> bool:
    """True where not all rows of `(n, d)` parts together are the same, so that they have principal components."""
    return any(np.ptp(column) > SAME for column in np.concatenate(parts).T)


def shares(variances: Floats, *parts: Floats) -> list[float]:
    """The shares of the whole variance of `(n, d)` parts together; 0 where there is none."""
    total = float(np.concatenate(parts).var(axis=0, ddof=1).sum())
    return [float(variance) / total if total else 0.0 for variance in variances]


def _points(pca, vectors, points, random):
    chosen = np.sort(random.permutation(len(vectors))[:points])
    return [[round(float(x), 4), round(float(y), 4)] for x, y in pca.transform(vectors[chosen])]


def identify(
    questions: Floats, candidates: Floats, pool: Pool, pivot: str | None = None, seed: int = 0
) -> Identification | None:
    """LAReQA, section 5.4: the language of a vector by logistic regression, accuracy on a third that was held out.

    The pivot is the first language unless it is given. The third is the same share of each language, a seeded choice.
    None with one language.
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
