"""Descriptions: a line about a passage in each of some languages, learned as a question about it would be.

A description, such as an abstract, a caption or the text of a link, asks nothing and names no answer. It makes a
passage without train questions known to the student, in languages that the documents are not in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import DataError
from ..system.reading import iter_jsonl
from ..system.types import Json
from .dataset import Dataset, Question
from .parsing.fields import as_id

DESCRIPTIONS, PARALLEL = "descriptions.jsonl", "parallel.tsv"
# Before the id of a passage: no question has the same.
PREFIX = "about "


def find_own_text(folder: Path) -> list[Path]:
    """Return the data set's own parallel text and descriptions that are in its folder."""
    return [path for path in (folder / PARALLEL, folder / DESCRIPTIONS) if path.is_file()]


def add_descriptions(dataset: Dataset, folder: Path) -> Dataset:
    """Add the descriptions in a folder to a data set's train questions.

    `descriptions.jsonl` has one object per passage, {passage, LANGUAGE: text, …}. Languages without questions are
    ignored.

    Args:
        dataset: The data set.
        folder: Its folder.

    Returns:
        The data set, unchanged without descriptions.

    Raises:
        DataError: If the file is malformed, with its line.
    """
    lines = read_descriptions(dataset, folder)
    if not lines:
        return dataset
    questions = {language: dict(known) for language, known in dataset.questions.items()}
    for line in lines:
        questions[line.language][line.id] = line
    train = tuple(dict.fromkeys([*dataset.splits["train"], *(line.id for line in lines)]))
    return replace(dataset, questions=questions, splits={**dataset.splits, "train": train})


def read_descriptions(dataset: Dataset, folder: Path) -> list[Question]:
    """Read the descriptions in a folder, in the languages of the questions.

    Args:
        dataset: The data set.
        folder: Its folder.

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
