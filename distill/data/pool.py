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

    `sentences` `(c,)` with their paragraphs `contexts` `(c,)` in `language_of`, int `(c,)`, ascending indices into
    `languages`; `questions` `(q,)` with their `ids` `(q,)` in `asked_in`, int `(q,)`. Questions of one id are
    translations of each other and share `targets`, int `(q, r)`: the sentences that answer them, padded with -1.
    `known` are the ids of all questions, those that were not selected too.
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
        """int `(languages + 1,)`: where each language's sentences begin, and the end."""
        return np.searchsorted(self.language_of, np.arange(len(self.languages) + 1))

    @cached_property
    def target_language(self) -> Integers:
        """int `(q, r)`: the language of each target, -1 where there is none."""
        return np.where(self.targets == NONE, NONE, self.language_of[self.targets])

    def select(self, ids: Iterable[str]) -> Pool:
        """The same sentences with the questions of `ids` alone. Raises `DataError` when a language has none."""
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
        """The pool, if each language has sentences and questions; else `DataError`."""
        for number, language in enumerate(self.languages):
            for what, of in (("candidate sentences", self.language_of), ("questions", self.asked_in)):
                if not np.any(of == number):
                    raise DataError(f"{self.name}: language {language} has no {what}; leave it out with --languages")
        return self

    def count(self, of: Integers) -> dict[str, int]:
        """`{language: number}` of `asked_in` or `language_of`."""
        counts = np.bincount(of, minlength=len(self.languages))
        return {language: int(count) for language, count in zip(self.languages, counts, strict=True)}


class LanguageFile(NamedTuple):
    """One language's `sentences` with their paragraphs `contexts`, and its `questions`.

    A question is its id, its text and the numbers of the sentences that answer it.
    """

    sentences: list[str]
    contexts: list[str]
    questions: list[tuple[str, str, list[int]]]


def pool_of(name: str, files: Mapping[str, LanguageFile]) -> Pool:
    """A `Pool` of the files by language.

    A question's targets are its own sentences and those of its translations in the other languages.
    """
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
        targets=_padded([targets[id] for _, id, _ in rows]),
        known=frozenset(targets),
    ).check()


def _padded(rows):
    width = max((len(row) for row in rows), default=0)
    return np.array([row + [NONE] * (width - len(row)) for row in rows], dtype=np.int64).reshape(len(rows), width)
