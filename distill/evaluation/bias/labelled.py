"""Texts with a label each, in several languages: what a classifier learns from and is measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.parsing.tsv import read_table
from ...errors import DataError
from ...system.files import usable_path
from ...system.types import Booleans, File

# Headings of the column of labels, one of which is taken, and of those of partitions and of rows' names.
LABEL, PARTITION, NAME = ("label", "intent", "class", "category"), ("partition", "split"), "id"
TRAIN = "train"


@dataclass(frozen=True)
class Labelled:
    """Rows with a text in some languages: `texts[language]` `(n,)`, "" where a row has none in it.

    `labels`, `partitions` and `ids` are `(n,)`; `pivot` is the language whose rows of the partition `train` are learned
    from, and `split` the partition that is tested.
    """

    name: str
    pivot: str
    split: str
    texts: Mapping[str, Sequence[str]]
    labels: NDArray[np.str_]
    partitions: NDArray[np.str_]
    ids: NDArray[np.str_]

    def rows(self, language: str, partition: str) -> Booleans:
        """bool `(n,)`: true of the rows of a partition with a text in the language."""
        there = np.array([bool(text.strip()) for text in self.texts[language]], dtype=bool)
        return there & (self.partitions == partition)

    def select(self, language: str, partition: str) -> list[str]:
        """The texts of these rows."""
        return [text for text, there in zip(self.texts[language], self.rows(language, partition), strict=True) if there]


def load_labelled(
    source: File, languages: Sequence[str] = (), pivot: str = "en", split: str = "test", column: str = ""
) -> Labelled:
    """The `Labelled` of a .tsv with a header: columns headed by languages, one of labels and one of partitions.

    `column` is the heading of the labels, by default the first of `LABEL` that is there; without `languages` all that
    are there. Raises `DataError` naming file and column, and for one label alone or a language without texts to test.
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
    return _checked(path, Labelled(f"{path.parent.name}/{path.stem}", pivot, split, texts, *parts))


def _heading(path, columns, names, what, more=""):
    heading = next((name for name in names if name in columns), None)
    if heading is None:
        raise DataError(f"{path}: no column of {what}; head one {' or '.join(names)}{more}")
    return heading


def _checked(path, data):
    if missing := [language for language, texts in data.texts.items() if not texts]:
        raise DataError(f"{path}: no column {missing[0]}; use --languages and --document-language for those it has")
    for language, partition in ((data.pivot, TRAIN), *((language, data.split) for language in data.texts)):
        if not data.rows(language, partition).any():
            held = ", ".join(np.unique(data.partitions)) or "no rows"
            raise DataError(f"{path}: no texts in {language} of the partition {partition}; there are {held}")
    labels = np.unique(data.labels[data.rows(data.pivot, TRAIN)])
    if "" in labels or len(labels) < 2:
        said = "a row has no label" if "" in labels else f"one label alone, {str(labels[0])!r}"
        raise DataError(f"{path}: {said} in {data.pivot}, {TRAIN}; a classifier learns to tell two labels or more")
    return data
