"""Answers in many languages in one pool: sentences, questions, and which sentences answer which question."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import DataError

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
    languages: tuple
    sentences: tuple
    contexts: tuple
    language_of: np.ndarray
    questions: tuple
    ids: tuple
    asked_in: np.ndarray
    targets: np.ndarray
    known: frozenset = frozenset()

    @cached_property
    def starts(self):
        """int `(languages + 1,)`: where each language's sentences begin, and the end."""
        return np.searchsorted(self.language_of, np.arange(len(self.languages) + 1))

    @cached_property
    def target_language(self):
        """int `(q, r)`: the language of each target, -1 where there is none."""
        return np.where(self.targets == NONE, NONE, self.language_of[self.targets])

    def select(self, ids):
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

    def check(self):
        """The pool, if each language has sentences and questions; else `DataError`."""
        for number, language in enumerate(self.languages):
            for what, of in (("candidate sentences", self.language_of), ("questions", self.asked_in)):
                if not np.any(of == number):
                    raise DataError(f"{self.name}: language {language} has no {what}; leave it out with --languages")
        return self

    def count(self, of):
        """`{language: number}` of `asked_in` or `language_of`."""
        counts = np.bincount(of, minlength=len(self.languages))
        return {language: int(count) for language, count in zip(self.languages, counts, strict=True)}


def pool_of(name, found):
    """A `Pool` of `{language: (sentences, contexts, [(id, question, its sentences' numbers)])}`.

    A question's targets are its own sentences and those of its translations in the other languages.
    """
    languages = tuple(sorted(found))
    sizes = [len(found[language][0]) for language in languages]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    targets = {}
    for language, offset in zip(languages, offsets, strict=False):
        for id, _, numbers in found[language][2]:
            targets.setdefault(id, []).extend(int(offset) + number for number in sorted(set(numbers)))
    asked = [(number, id, text) for number, lang in enumerate(languages) for id, text, _ in found[lang][2]]
    return Pool(
        name=name,
        languages=languages,
        sentences=tuple(sentence for language in languages for sentence in found[language][0]),
        contexts=tuple(context for language in languages for context in found[language][1]),
        language_of=np.repeat(np.arange(len(languages)), sizes),
        questions=tuple(text for _, _, text in asked),
        ids=tuple(id for _, id, _ in asked),
        asked_in=np.array([number for number, _, _ in asked], dtype=np.int64),
        targets=_padded([targets[id] for _, id, _ in asked]),
        known=frozenset(targets),
    ).check()


def _padded(rows):
    width = max((len(row) for row in rows), default=0)
    return np.array([row + [NONE] * (width - len(row)) for row in rows], dtype=np.int64).reshape(len(rows), width)
