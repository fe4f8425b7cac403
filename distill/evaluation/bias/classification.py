"""A classifier that learns in one language and is asked in others, with language information removed or not.

Yang, Yang, Cer and Darve (2021), section 3.2 and Table 2: logistic regression on English vectors, zero-shot elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...system.types import Booleans, Floats, Progress
from .analyses import Samples
from .fitting import Removed, fitted
from .labelled import TRAIN, Labelled

# Components removed in the paper's Table 2.
RANKS = (1, 2, 3, 5, 8, 10, 12)


@dataclass(frozen=True)
class LabelledVectors:
    """An encoder's vectors of `Labelled` texts: `learned` `(t, d)` of train, `tested[language]` `(q, d)`.

    `samples[language]` are those that language information removal is fitted on, texts of `corpus`.
    """

    data: Labelled
    learned: Floats
    tested: Mapping[str, Floats]
    samples: Mapping[str, Floats]
    corpus: str


@dataclass(frozen=True)
class Against:
    """A language's accuracy, and McNemar's test against nothing removed: on how many texts one alone is right."""

    accuracy: float
    gained: int
    lost: int
    p: float
    p_holm: float
    significant: bool


@dataclass(frozen=True)
class Classified:
    """Accuracy with nothing removed by language, and with r directions removed by r, learned from the `corpus`."""

    corpus: str
    plain: dict[str, float]
    ranks: dict[int, dict[str, Against]]


def encode_labelled(
    encoder: Encoder, data: Labelled, samples: Samples, progress: Progress | None = None
) -> LabelledVectors:
    """The vectors of texts to learn from, to test and of the samples. Raises `EncoderError` for those no numbers."""

    def encoded(texts):
        return require_finite(encoder.encode(texts, "question", progress), encoder)

    learned = encoded(data.select(data.pivot, TRAIN))
    tested = {language: encoded(data.select(language, data.split)) for language in data.texts}
    return LabelledVectors(
        data, learned, tested, {language: encoded(texts) for language, texts in samples.texts.items()}, samples.name
    )


def right_by_rank(
    vectors: LabelledVectors, removed: Removed, step: Callable[[], None] = lambda: None
) -> dict[int, dict[str, Booleans]]:
    """`{r: {language: bool (q,)}}`: true where the label is found with r directions removed, 0 first.

    They are removed in training and in testing, each text's by its language. Fewer rows than `removed` asks for where a
    sample does not span so many directions.
    """
    removal, rows = fitted(vectors.samples, removed.ranks), {0: _right(vectors, None, removed, 0)}
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
    told = classifier(left(vectors.learned, data.pivot), labels)
    return {
        language: told(left(rows, language)) == data.labels[data.rows(language, data.split)]
        for language, rows in vectors.tested.items()
    }


def classifier(vectors: Floats, labels: NDArray[np.str_]) -> Callable[[Floats], NDArray[np.str_]]:
    """scikit-learn's logistic regression, `max_iter=1000` and else its defaults, learned from `(n, d)` and `(n,)`."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(vectors, labels).predict
