"""Labelled texts in several languages, which a classifier learns from and is tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.parsing.tsv import read_table
from ...errors import DataError
from ...system.files import usable_path
from ...system.types import Booleans, File

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
    return data
