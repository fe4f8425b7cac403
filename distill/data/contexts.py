"""Read a data set's passages in other languages, as files in XQuAD's format have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..system.input_files import iter_jsonl
from ..system.types import File, Json
from .dataset import Dataset, Question
from .parsing import (
    as_id,
    parse_articles,
    parse_distinct_answers,
    parse_id,
    parse_paragraphs,
    parse_questions,
    parse_text,
)
from .readers import find


def read_contexts(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the passages of a data set by language, the documents' first; only SQuAD files have them in others."""
    others = {language: _texts(path, dataset) for language, path in _find_files(dataset, source, languages).items()}
    return {dataset.document_language: tuple(dataset.passage_texts), **others}


def read_answers(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read the answers, spans of the passages in each language, by language and question id, if the data has them."""
    answers = {id: question.answers for id, question in dataset.questions.get(dataset.document_language, {}).items()}
    others = {language: _answers(path) for language, path in _find_files(dataset, source, languages).items()}
    return {dataset.document_language: answers, **others}


def _find_files(dataset, source, languages):
    """Return the files with passages in other languages than the documents', by language."""
    folder = find(source)
    if (folder / "documents.jsonl").is_file():
        return {}
    paths = {language: folder / f"{language}.json" for language in languages}
    return {
        language: path for language, path in paths.items() if language != dataset.document_language and path.is_file()
    }


def _texts(path, dataset):
    paragraphs = parse_paragraphs(path, parse_articles(path))
    if len(paragraphs) != len(dataset.passages):
        raise DataError(
            f"{path}: {len(paragraphs)} paragraphs, but {len(dataset.passages)} in {dataset.document_language}.json; "
            "its paragraphs have to be the same in the same order"
        )
    questions = dataset.questions[path.stem]
    for number, paragraph in enumerate(paragraphs):
        for id in _ids(path, paragraph, number):
            # One that the documents' paragraph does not answer is no question of the data set.
            if id in questions and questions[id].passage != number:
                raise DataError(f"{path}, paragraph {number}: question {id} is of another paragraph")
    return tuple(parse_text(path, paragraph, "context", f"paragraph {i}") for i, paragraph in enumerate(paragraphs))


def _ids(path, paragraph, number):
    return [parse_id(path, qa, "id", f"paragraph {number}") for qa in parse_questions(path, paragraph)]


def _answers(path):
    paragraphs = parse_paragraphs(path, parse_articles(path))
    return {
        id: parse_distinct_answers(path, qa, f"question {id}")
        for number, paragraph in enumerate(paragraphs)
        for id, qa in zip(_ids(path, paragraph, number), parse_questions(path, paragraph), strict=True)
    }


DESCRIPTIONS, PARALLEL = "descriptions.jsonl", "parallel.tsv"
# Before the id of a passage, or the number of a document: no question has the same.
PREFIX, TITLE = "about ", "title of document "


def find_own_text(folder: Path) -> list[Path]:
    """Return the data set's own parallel text and descriptions that are in its folder."""
    return [path for path in (folder / PARALLEL, folder / DESCRIPTIONS) if path.is_file()]


def add_descriptions(dataset: Dataset, folder: Path) -> Dataset:
    """Add the descriptions in a folder to a data set's train questions.

    `descriptions.jsonl` has objects {passage, LANGUAGE: text, …}. Languages without questions are ignored.
    """
    return _add_to_train(dataset, read_descriptions(dataset, folder))


def add_titles(dataset: Dataset) -> Dataset:
    """Add documents' own titles, which their first passages answer, to the train questions in their language."""
    language = dataset.document_language
    if language not in dataset.questions:
        return dataset
    starts = np.searchsorted(dataset.document_of, np.arange(len(dataset.titles)))
    titles = [
        Question(f"{TITLE}{number}", language, title, int(first))
        for number, (title, first) in enumerate(zip(dataset.titles, starts, strict=True))
        if title.strip() and number not in dataset.untitled
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
    """Read the descriptions in a folder, in the languages of the questions."""
    path = folder / DESCRIPTIONS
    if not path.is_file():
        return []
    index = {passage.id: number for number, passage in enumerate(dataset.passages)}
    lines: list[Question] = []
    known: dict[tuple[str, str], int] = {}
    for number, row in iter_jsonl(path):
        of_row = _lines(row, index, f"{path}, line {number}")
        lines += _number_line([line for line in of_row if line.language in dataset.questions], known)
    return lines


def _number_line(texts, known):
    """Name a line apart from those before it about its passage in one of its languages, as an id has one text in each.

    `known` is the last number by passage and language.
    """
    number = 1 + max((known.get((text.id, text.language), 0) for text in texts), default=0)
    known.update({(text.id, text.language): number for text in texts})
    return [text if number == 1 else replace(text, id=f"{number}. {text.id}") for text in texts]


def _lines(row: Mapping[str, Json], index: Mapping[str, int], place: str) -> list[Question]:
    passage = as_id(row.get("passage"))
    if passage is None or passage not in index:
        raise DataError(f"{place}: expected the id of a passage under 'passage', got {row.get('passage')!r}")
    texts = {language: text for language, text in row.items() if language != "passage"}
    if wrong := [language for language, text in texts.items() if not isinstance(text, str) or not text.strip()]:
        raise DataError(f"{place}: expected a text under {wrong[0]!r}, got {texts[wrong[0]]!r}")
    return [Question(PREFIX + passage, language, text, index[passage]) for language, text in texts.items()]
