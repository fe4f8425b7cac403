"""How close a student is to its teacher: vectors, similarities of pairs, and nearest neighbours of the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..data.dataset import Dataset
from ..encoders.encoder import normalise_rows
from ..errors import InputError
from ..system.types import Doubles, Floats, Integers

# Nearest neighbours that are compared, and texts of which there have to be some for that.
NEIGHBOURS, FEWEST = 10, 3
# Texts of a language that are compared, each with each, at most.
MOST = 1000


@dataclass(frozen=True)
class Closeness:
    """How close an encoder's vectors of some texts are to a teacher's.

    Attributes:
        spearman: Spearman's correlation of the cosines of all pairs of texts; None if all are equal.
        neighbours: Share of a text's nearest neighbours by the teacher (ten, if there are as many) that are among those
            by the encoder, as a mean over the texts.
        cosine_mean: Mean cosine of the two vectors of a text; None, as the next two, if the spaces are not the same.
        cosine_p5: Their 5th percentile.
    """

    texts: int
    spearman: float | None
    neighbours: float
    cosine_mean: float | None = None
    cosine_p5: float | None = None
    cosine_min: float | None = None


def measure_closeness(vectors: Floats, labels: Floats, same_space: bool = True) -> Closeness:
    """Measure how close an encoder's vectors are to a teacher's.

    Args:
        vectors: The encoder's vectors `(n, d)`.
        labels: The teacher's vectors `(n, e)` of the same texts, or of what they translate.
        same_space: Whether the encoder's vectors are meant to be the teacher's, so that their cosine says something.

    Example:
        >>> import numpy
        >>> labels = numpy.eye(4) + 0.1
        >>> measure_closeness(labels[:, ::-1], labels, same_space=False).neighbours
        1.0
    """
    if len(vectors) < FEWEST:
        raise InputError(f"expected {FEWEST} texts or more to compare, got {len(vectors)}")
    rows, of_teacher = (normalise_rows(np.asarray(one, dtype=np.float64)) for one in (vectors, labels))
    pairs = np.triu_indices(len(rows), 1)
    cosines, by_teacher = rows @ rows.T, of_teacher @ of_teacher.T
    correlation = correlate_ranks(cosines[pairs], by_teacher[pairs])
    shared = _share_neighbours(cosines, by_teacher)
    if not same_space:
        return Closeness(len(rows), correlation, shared)
    to_teacher = np.sum(rows * of_teacher, axis=1)
    return Closeness(
        len(rows),
        correlation,
        shared,
        float(to_teacher.mean()),
        float(np.percentile(to_teacher, 5)),
        float(to_teacher.min()),
    )


def correlate_ranks(a: ArrayLike, b: ArrayLike) -> float | None:
    """Return Spearman's correlation of two lists of numbers; None if the numbers of one are all equal."""
    first, second = rank_numbers(a), rank_numbers(b)
    if not np.ptp(first) or not np.ptp(second):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def rank_numbers(values: ArrayLike) -> Doubles:
    """Return the ranks of numbers, from 1; equal ones share the mean of their ranks."""
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    means: Doubles = np.cumsum(counts) - (counts - 1) / 2
    return means[place]


def _share_neighbours(cosines, by_teacher):
    """Return the mean share of the nearest neighbours that two matrices of cosines have in common."""
    count = min(NEIGHBOURS, len(cosines) - 1)
    near = np.zeros((2, *cosines.shape), dtype=bool)
    for marks, matrix in zip(near, (cosines, by_teacher), strict=True):
        np.put_along_axis(marks, _nearest(matrix, count), True, axis=1)
    return float(np.mean((near[0] & near[1]).sum(axis=1) / count))


def _nearest(matrix, count) -> Integers:
    """Return the columns of the highest values in each row, the diagonal left out; equal values in their order."""
    apart = np.where(np.eye(len(matrix), dtype=bool), np.inf, -matrix)
    return np.argsort(apart, axis=1, kind="stable")[:, :count]


def pair_texts(
    dataset: Dataset, split: str, languages: Sequence[str], pivot: str, lines: bool, seed: int = 0
) -> dict[str, list[tuple[str, str]]]:
    """Pair held-out texts with the texts whose vectors by the teacher they are to have.

    A text in the teacher's language is its own. A question in another language has its version in the teacher's
    language. Where the data is held-out `lines`, a line has the passage that it translates, and passages are texts too.
    """
    versions = {question.id: question.text for question in dataset.select(pivot, split)}
    pairs: dict[str, dict[str, str]] = {language: {} for language in languages}
    for language in languages:
        for question in dataset.select(language, split):
            passage = dataset.passages[question.passage]
            spoken = passage.language or dataset.document_language
            line = "" if not lines else passage.text if spoken == pivot else question.text
            if label := versions.get(question.id, line):
                pairs[language].setdefault(question.text, label)
            if lines and spoken in pairs:
                pairs[spoken].setdefault(passage.text, passage.text)
    rng = np.random.default_rng(seed)
    chosen = {language: _choose(list(of.items()), rng) for language, of in pairs.items()}
    return {language: of for language, of in chosen.items() if len(of) >= FEWEST}


def _choose(pairs, rng):
    return pairs if len(pairs) <= MOST else [pairs[row] for row in np.sort(rng.permutation(len(pairs))[:MOST])]
