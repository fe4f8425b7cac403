"""Descriptions and titles: a line about a passage or a document, learned as a question about it would be.

A description, such as an abstract, a caption or the text of a link, asks nothing and names no answer. It makes a
passage without train questions known to an encoder, in languages that the documents are not in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..system.input_files import iter_jsonl
from ..system.types import Json
from .dataset import Dataset, Question
from .parsing.fields import as_id

DESCRIPTIONS, PARALLEL = "descriptions.jsonl", "parallel.tsv"
# Before the id of a passage, or the number of a document: no question has the same.
PREFIX, TITLE = "about ", "title of document "


def find_own_text(folder: Path) -> list[Path]:
    """Return the data set's own parallel text and descriptions that are in its folder."""
    return [path for path in (folder / PARALLEL, folder / DESCRIPTIONS) if path.is_file()]


def add_descriptions(dataset: Dataset, folder: Path) -> Dataset:
    """Add the descriptions in a folder to a data set's train questions.

    `descriptions.jsonl` has one object per passage, {passage, LANGUAGE: text, …}. Languages without questions are
    ignored.

    Raises:
        DataError: If the file is malformed, with its line.
    """
    return _add_to_train(dataset, read_descriptions(dataset, folder))


def add_titles(dataset: Dataset) -> Dataset:
    """Add the titles of the documents to the train questions in their language; the first passage answers each.

    Returns:
        The data set, unchanged if nobody asks in the language of the documents or no document has a title.
    """
    language = dataset.document_language
    if language not in dataset.questions:
        return dataset
    firsts = np.searchsorted(dataset.document_of, np.arange(len(dataset.titles)))
    titles = [
        Question(f"{TITLE}{number}", language, title, int(first))
        for number, (title, first) in enumerate(zip(dataset.titles, firsts, strict=True))
        if title.strip()
    ]
    return _add_to_train(dataset, titles)


def _add_to_train(dataset, lines):
    if not lines:
        return dataset
    questions = {language: dict(known) for language, known in dataset.questions.items()}
    for line in lines:
        questions[line.language][line.id] = line
    train = tuple(dict.fromkeys([*dataset.splits["train"], *(line.id for line in lines)]))
    return replace(dataset, questions=questions, splits={**dataset.splits, "train": train})


def read_descriptions(dataset: Dataset, folder: Path) -> list[Question]:
    """Read the descriptions in a folder, in the languages of the questions.

    Returns:
        The descriptions, empty without a file.

    Raises:
        DataError: If the file is malformed, with its line.
    """
    path = folder / DESCRIPTIONS
    if not path.is_file():
        return []
    index = {passage.id: number for number, passage in enumerate(dataset.passages)}
    lines = (line for number, row in iter_jsonl(path) for line in _lines(row, index, f"{path}, line {number}"))
    return [line for line in lines if line.language in dataset.questions]


def _lines(row: Mapping[str, Json], index: Mapping[str, int], place: str) -> list[Question]:
    passage = as_id(row.get("passage"))
    if passage is None or passage not in index:
        raise DataError(f"{place}: expected the id of a passage under 'passage', got {row.get('passage')!r}")
    texts = {language: text for language, text in row.items() if language != "passage"}
    if wrong := [language for language, text in texts.items() if not isinstance(text, str) or not text.strip()]:
        raise DataError(f"{place}: expected a text under {wrong[0]!r}, got {texts[wrong[0]]!r}")
    return [Question(PREFIX + passage, language, text, index[passage]) for language, text in texts.items()]
