"""A classifier that learns in one language and is tested in others, with language information removed or not.

Yang, Yang, Cer and Darve (2021), section 3.2 and Table 2: logistic regression on English vectors, applied zero-shot to
other languages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...encoders.removal_fitting import RemovalOptions, Samples, fit_highest_rank
from ...system.types import Booleans, Floats, Progress
from .labelled_texts import TRAIN, LabelledTexts

# Numbers of removed components in the paper's Table 2.
RANKS = (1, 2, 3, 5, 8, 10, 12)


@dataclass(frozen=True)
class LabelledVectors:
    """An encoder's vectors of labelled texts.

    Attributes:
        learned: Float array `(t, d)`, the texts to learn from.
        tested: `{language: vectors}` of the texts to test on, float arrays `(q, d)`.
        samples: `{language: vectors}` that language information removal is fitted on.
    """

    data: LabelledTexts
    learned: Floats
    tested: Mapping[str, Floats]
    samples: Mapping[str, Floats]
    corpus: str


@dataclass(frozen=True)
class RemovalEffect:
    """A language's accuracy, compared with nothing removed.

    Attributes:
        accuracy: Accuracy in [0, 1].
        gained: Number of texts that are only right after the removal.
        lost: Number of texts that are only right without it.
        p_holm: The p-value corrected over all languages and numbers of directions.
        significant: True if the corrected p-value is below the level.
    """

    accuracy: float
    gained: int
    lost: int
    p: float
    p_holm: float
    significant: bool


@dataclass(frozen=True)
class ClassificationFigures:
    """Accuracy by language, with and without language information.

    Attributes:
        plain: `{language: accuracy}` with nothing removed.
        ranks: `{number of removed directions: {language: comparison with nothing removed}}`.
    """

    corpus: str
    plain: dict[str, float]
    ranks: dict[int, dict[str, RemovalEffect]]


def encode_labelled(
    encoder: Encoder, data: LabelledTexts, samples: Samples, progress: Progress | None = None
) -> LabelledVectors:
    """Encode the texts to learn from, the texts to test on and the samples.

    `samples` are texts that language information removal is fitted on. Raises `EncoderError` if vectors hold NaN or
    infinity.
    """

    def encode_labelled(texts):
        return require_finite(encoder.encode(texts, "question", progress), encoder)

    learned = encode_labelled(data.select(data.pivot, TRAIN))
    tested = {language: encode_labelled(data.select(language, data.split)) for language in data.texts}
    return LabelledVectors(
        data,
        learned,
        tested,
        {language: encode_labelled(texts) for language, texts in samples.texts.items()},
        samples.name,
    )


def correct_by_rank(
    vectors: LabelledVectors, removed: RemovalOptions, step: Callable[[], None] = lambda: None
) -> dict[int, dict[str, Booleans]]:
    """Return which texts are classified rightly with more and more directions removed.

    The directions are removed in training and in testing, by the language of each text. There are fewer rows if a
    sample does not span enough directions. `step` is called once per row. Returns `{number of removed directions:
    {language: boolean array (q,)}}`, 0 first.
    """
    removal, rows = fit_highest_rank(vectors.samples, removed.ranks), {0: _right(vectors, None, removed, 0)}
    step()
    for rank in (rank for rank in removed.ranks if removal and rank <= removal.rank):
        rows[rank] = _right(vectors, removal, removed, rank)
        step()
    return rows


def _right(vectors, removal, removed, rank):
    data = vectors.data

    def left(rows: Floats, language: str) -> Floats:
        return rows if removal is None else removed.of(removal, rows, language, rank)

    labels = data.labels[data.rows(data.pivot, TRAIN)]
    classify = fit_classifier(left(vectors.learned, data.pivot), labels)
    return {
        language: classify(left(rows, language)) == data.labels[data.rows(language, data.split)]
        for language, rows in vectors.tested.items()
    }


def fit_classifier(vectors: Floats, labels: NDArray[np.str_]) -> Callable[[Floats], NDArray[np.str_]]:
    """Fit scikit-learn's logistic regression, with `max_iter=1000` and its other defaults.

    Args:
        vectors: Float array `(n, d)`.
        labels: Array `(n,)`.
    """
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(vectors, labels).predict
