"""Answers in many languages in one pool: sentences, questions, and which sentences answer which question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from ..system.types import Integers

NONE = -1


@dataclass(frozen=True)
class Pool:
    """LAReQA's retrieval task (Roy et al., 2020, section 3.1).

    Attributes:
        sentences: The candidates `(c,)`.
        contexts: Their paragraphs `(c,)`.
        language_of: The language of each candidate, int `(c,)`, ascending indices into `languages`.
        questions: The questions `(q,)`.
        ids: Their ids `(q,)`. Questions with the same id are translations of each other and share targets.
        asked_in: The language of each question, int `(q,)`.
        targets: The sentences that answer each question, int `(q, r)`, padded with -1.
        known: The ids of all questions, also those that were not selected.
    """

    name: str
    languages: tuple[str, ...]
    sentences: tuple[str, ...]
    contexts: tuple[str, ...]
    language_of: Integers
    questions: tuple[str, ...]
    ids: tuple[str, ...]
    asked_in: Integers
    targets: Integers
    known: frozenset[str] = frozenset()

    @cached_property
    def starts(self) -> Integers:
        """The first sentence of each language, and the end, int `(languages + 1,)`."""
        return np.searchsorted(self.language_of, np.arange(len(self.languages) + 1))

    @cached_property
    def target_language(self) -> Integers:
        """The language of each target, int `(q, r)`, -1 for padding."""
        return np.where(self.targets == NONE, NONE, self.language_of[self.targets])

    def select(self, ids: Iterable[str]) -> Pool:
        """Keep the questions of some ids. Raises `DataError` if a language has none left."""
        wanted = set(ids)
        rows = np.array([row for row, id in enumerate(self.ids) if id in wanted], dtype=np.int64)
        chosen = replace(
            self,
            questions=tuple(self.questions[row] for row in rows),
            ids=tuple(self.ids[row] for row in rows),
            asked_in=self.asked_in[rows],
            targets=self.targets[rows],
        )
        return chosen.check()

    def check(self) -> Pool:
        """Return the pool. Raises `DataError` if a language has no sentences or no questions."""
        for number, language in enumerate(self.languages):
            for what, of in (("candidate sentences", self.language_of), ("questions", self.asked_in)):
                if not np.any(of == number):
                    raise DataError(f"{self.name}: language {language} has no {what}; leave it out with --languages")
        return self

    def count(self, of: Integers) -> dict[str, int]:
        """Count the values of `asked_in` or `language_of` by language."""
        counts = np.bincount(of, minlength=len(self.languages))
        return {language: int(count) for language, count in zip(self.languages, counts, strict=True)}


class LanguageFile(NamedTuple):
    """A language's sentences with their paragraphs, and its questions: id, text, and the sentences that answer it."""

    sentences: list[str]
    contexts: list[str]
    questions: list[tuple[str, str, list[int]]]


def make_pool(name: str, files: Mapping[str, LanguageFile]) -> Pool:
    """Make a pool of files by language; a question's targets are its own sentences and those of its translations."""
    languages = tuple(sorted(files))
    sentences, contexts, questions = zip(*(files[language] for language in languages), strict=True)
    sizes = list(map(len, sentences))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    targets: dict[str, list[int]] = {}
    for part, offset in zip(questions, offsets, strict=False):
        for id, _, numbers in part:
            targets.setdefault(id, []).extend(int(offset) + number for number in sorted(set(numbers)))
    rows = [(number, id, text) for number, part in enumerate(questions) for id, text, _ in part]
    return Pool(
        name=name,
        languages=languages,
        sentences=tuple(chain.from_iterable(sentences)),
        contexts=tuple(chain.from_iterable(contexts)),
        language_of=np.repeat(np.arange(len(languages)), sizes),
        questions=tuple(text for _, _, text in rows),
        ids=tuple(id for _, id, _ in rows),
        asked_in=np.array([number for number, _, _ in rows], dtype=np.int64),
        targets=_pad_targets([targets[id] for _, id, _ in rows]),
        known=frozenset(targets),
    ).check()


def _pad_targets(rows):
    width = max((len(row) for row in rows), default=0)
    return np.array([row + [NONE] * (width - len(row)) for row in rows], dtype=np.int64).reshape(len(rows), width)
