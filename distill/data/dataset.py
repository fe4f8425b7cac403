"""A data set: documents of passages in one language, questions about them in many."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import DataError
from ..system.hashes import digest
from ..system.types import Integers


@dataclass(frozen=True)
class Passage:
    """A passage and the index of its document."""

    id: str
    text: str
    document: int


@dataclass(frozen=True)
class Question:
    """One question in one language. Questions of the same id are translations of each other.

    `answers` are spans of the documents, in their language; none where the data gives none.
    """

    id: str
    language: str
    text: str
    passage: int
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """Documents in `document_language`; `questions[language][id]`; `splits[name]`, question ids in order.

    A question's passage and document are indices into `passages` and `titles`; `files` are the sha256 of what was read.
    """

    name: str
    document_language: str
    titles: tuple[str, ...]
    passages: tuple[Passage, ...]
    questions: dict[str, dict[str, Question]]
    splits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the questions, by name."""
        return tuple(sorted(self.questions))

    @cached_property
    def passage_texts(self) -> list[str]:
        """The text of each passage."""
        return [passage.text for passage in self.passages]

    @cached_property
    def document_texts(self) -> list[str]:
        """Each document's passages joined by a space: what the unit `document` encodes."""
        parts: list[list[str]] = [[] for _ in self.titles]
        for passage in self.passages:
            parts[passage.document].append(passage.text)
        return [" ".join(texts) for texts in parts]

    def texts(self, unit: str) -> list[str]:
        """The texts encoded for a unit: the documents for `document`, the passages for `passage` and `maxp`."""
        return self.document_texts if unit == "document" else self.passage_texts

    @cached_property
    def document_of(self) -> Integers:
        """int `(passages,)`: the document of each passage."""
        return np.array([passage.document for passage in self.passages], dtype=np.int64)

    def select(self, language: str, split: str) -> list[Question]:
        """The questions of one language in one split, in the split's order."""
        known = self.questions[language]
        return [known[id] for id in self.splits[split] if id in known]

    def require(self, languages: Sequence[str]) -> None:
        """Raise `DataError` naming the languages that the data lacks and those it has."""
        missing = [language for language in languages if language not in self.questions]
        if missing:
            raise DataError(
                f"no questions in {', '.join(missing)}: the data set {self.name} has {', '.join(self.languages)}"
            )


def texts_digest(dataset: Dataset) -> str:
    """The sha256 of a data set's passages, questions and splits, wherever its files lie."""
    texts = {name: {id: q.text for id, q in questions.items()} for name, questions in dataset.questions.items()}
    return digest([dataset.passage_texts, texts, dataset.splits])


def checked(dataset: Dataset) -> Dataset:
    """Return the data set. Raises `DataError` for one that cannot be trained on or measured."""
    for language, questions in dataset.questions.items():
        if not questions:
            raise DataError(f"{dataset.name}: language {language} has no questions; add some or remove its file")
    for split, ids in dataset.splits.items():
        if not ids:
            raise DataError(f"{dataset.name}: the split leaves {split} empty; use more questions or another split")
        for language in dataset.languages:
            if not dataset.select(language, split):
                raise DataError(f"{dataset.name}: the split leaves {split} empty in language {language}")
    return dataset


def normalise(text: str) -> str:
    """The form in which two questions count as identical."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def line_name(source: str, row: int, text: str) -> str:
    """The name of a line of texts: its number, from 1, among those that were taken, and its start; `row` is from 0."""
    return f"{source} {row + 1} ({text[:30]!r})"
