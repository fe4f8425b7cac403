"""A classifier that learns labelled texts of one language, and is tested in others with language bias removed or not.

Yang, Yang, Cer and Darve (2021), section 3.2 and Table 2: logistic regression on English vectors, applied zero-shot to
other languages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.parsing import read_table
from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...encoders.removal_fitting import RemovalOptions, Samples, fit_highest_rank
from ...errors import DataError
from ...system.files import usable_path
from ...system.types import Booleans, File, Floats, Progress

# Numbers of removed components in the paper's Table 2.
RANKS = (1, 2, 3, 5, 8, 10, 12)
# Possible headings of the column of labels, of the column of partitions, and of the column of ids.
LABEL, PARTITION, NAME = ("label", "intent", "class", "category"), ("partition", "split"), "id"
TRAIN = "train"


@dataclass(frozen=True)
class LabelledTexts:
    """Labelled rows, n in number, with a text in one language or more.

    Attributes:
        pivot: Language whose rows of the partition `train` are learned from.
        texts: `{language: texts (n,)}`; a row without a text in the language has "".
        labels: Array `(n,)`.
        partitions: Array `(n,)`.
        ids: Array `(n,)`.
    """

    name: str
    pivot: str
    split: str
    texts: Mapping[str, Sequence[str]]
    labels: NDArray[np.str_]
    partitions: NDArray[np.str_]
    ids: NDArray[np.str_]

    def rows(self, language: str, partition: str) -> Booleans:
        """Return the rows of a partition that have a text in a language: a boolean array `(n,)`."""
        there = np.array([bool(text.strip()) for text in self.texts[language]], dtype=bool)
        return there & (self.partitions == partition)

    def select(self, language: str, partition: str) -> list[str]:
        return [text for text, there in zip(self.texts[language], self.rows(language, partition), strict=True) if there]


def load_labelled(
    source: File, languages: Sequence[str] = (), pivot: str = "en", split: str = "test", column: str = ""
) -> LabelledTexts:
    """Load labelled texts from a .tsv with a header.

    Its columns are headed by language codes, by the name of the labels and by the name of the partitions. `column` is
    the heading of the labels; empty for the first of `LABEL` that the file has. Raises `DataError` if a column is
    missing, there is only one label, or a language has no texts to test on.
    """
    path = usable_path(source)
    if not path.is_file():
        raise DataError(
            f"{path}: expected a .tsv of texts by language, with a column {LABEL[0]} and a column {PARTITION[0]}"
        )
    special = (column or LABEL[0], *LABEL, *PARTITION, NAME)
    columns = read_table(path, (*special, pivot, *languages))
    label = _heading(path, columns, (column,) if column else LABEL, "labels", ", or name it with --label-column")
    partition = _heading(path, columns, PARTITION, f"partitions, {TRAIN} and {split}")
    spoken = sorted(languages or columns.keys() - {*special})
    texts = {language: columns.get(language, []) for language in dict.fromkeys((pivot, *spoken))}
    names = columns.get(NAME) or [str(number) for number in range(1, len(columns[label]) + 1)]
    parts = [np.array(part, dtype=np.str_) for part in (columns[label], columns[partition], names)]
    return _check_labels(path, LabelledTexts(f"{path.parent.name}/{path.stem}", pivot, split, texts, *parts))


def _heading(path, columns, names, what, more=""):
    heading = next((name for name in names if name in columns), None)
    if heading is None:
        raise DataError(f"{path}: no column of {what}; head one {' or '.join(names)}{more}")
    return heading


def _check_labels(path, data):
    if missing := [language for language, texts in data.texts.items() if not texts]:
        raise DataError(
            f"{path}: no column {missing[0]}; name the languages that it has with --languages and --document-language"
        )
    for language, partition in ((data.pivot, TRAIN), *((language, data.split) for language in data.texts)):
        if not data.rows(language, partition).any():
            held = ", ".join(np.unique(data.partitions)) or "no rows"
            raise DataError(f"{path}: no texts in {language} in the partition {partition}; the partitions are {held}")
    labels = np.unique(data.labels[data.rows(data.pivot, TRAIN)])
    if "" in labels or len(labels) < 2:
        said = "a row without a label" if "" in labels else f"only one label, {str(labels[0])!r}"
        raise DataError(f"{path}: {said} in {data.pivot}, {TRAIN}; a classifier needs two labels or more")
    _check_tested(path, data)
    return data


def _check_tested(path, data):
    """Raise `DataError` for a row to test on that has no label, or the id of another one."""
    tested = np.any([data.rows(language, data.split) for language in data.texts], axis=0)
    ids, counts = np.unique(data.ids[tested], return_counts=True)
    if "" in data.labels[tested]:
        raise DataError(f"{path}: a row without a label in {data.split}, which none can be right for; leave it out")
    if repeated := ids[counts > 1].tolist():
        raise DataError(
            f"{path}: {len(repeated)} ids are of several rows in {data.split}, such as {repeated[0]!r}, and scores are "
            f"by id; give each row one of its own, or leave out the column {NAME}"
        )


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
