"""Find the passages of a pool that hold the answer of a question, each in its own language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from ...data.contexts import read_answers
from ...data.dataset import Dataset
from ...data.pairs import Pairs
from ...errors import DataError
from ...system.progress import say
from ...system.types import File, Integers
from ...vocabulary.words.answer_finder import AnswerFinder, drop_closed_answers

HELD, NOT, UNKNOWN = 1, 0, -1


class AnsweringPassages:
    """The passages of `pairs` that hold answers. Sentri, section 2.1.

    A passage is searched for the answers in its own language. Without answers in that language, it is unknown whether
    it answers. Questions of one id have the same answers, whatever language they are asked in. `answers` are the
    answers as `{language: {question id: answers}}`.
    """

    def __init__(self, pairs: Pairs, answers: Mapping[str, Mapping[str, Sequence[str]]]):
        self.pairs, self.answers = pairs, answers
        self.known: dict[str, dict[int, int]] = {}
        self.rows = {str(one): np.flatnonzero(pairs.languages == one) for one in np.unique(pairs.languages)}
        texts = {language: [pairs.passages[row] for row in rows] for language, rows in self.rows.items()}
        self.finders = {language: AnswerFinder(passages, language) for language, passages in texts.items()}

    @cached_property
    def translations(self) -> dict[int, Integers]:
        """The rows of the passages of each content."""
        order = np.argsort(self.pairs.content, kind="stable")
        contents, starts = np.unique(self.pairs.content[order], return_index=True)
        return dict(zip(contents.tolist(), np.split(order, starts[1:]), strict=True))

    def of(self, id: str, rows: Integers) -> Integers:
        """Tell which passages hold the answer of a question.

        `rows` are the rows of the passages, int `(k,)`. Returns `HELD`, `NOT`, or `UNKNOWN` if there is no answer in
        the language, int `(k,)`.
        """
        known, rows = self.known.setdefault(id, {}), np.asarray(rows, dtype=np.int64)
        new = np.array([row for row in dict.fromkeys(rows.tolist()) if row not in known], dtype=np.int64)
        known.update(zip(new.tolist(), self._look(id, new).tolist(), strict=True))
        return np.array([known[row] for row in rows.tolist()], dtype=np.int64)

    def anywhere(self, id: str, content: int) -> bool:
        """Tell whether a passage, or one of its translations, holds the answer."""
        return bool((self.of(id, self.translations[int(content)]) == HELD).any())

    @cached_property
    def nowhere(self) -> set[str]:
        """The ids of the questions whose answer is in no passage of the pool, or that have no answer."""
        positives = {
            question.id: rows for question, rows in zip(self.pairs.questions, self.pairs.positives, strict=True)
        }
        every = np.arange(len(self.pairs.passages))
        # The gold passages first: they hold most answers, and the pool need not be searched.
        return {
            id
            for id, gold in positives.items()
            if not (self.of(id, gold) == HELD).any() and not (self._look(id, every) == HELD).any()
        }

    def without(self) -> dict[str, tuple[int, int]]:
        """Count, by language, the questions whose answer is nowhere, and all questions.

        Only languages with such questions are listed.
        """
        spoken = self.pairs.asked_in
        lost = np.array([question.id in self.nowhere for question in self.pairs.questions], dtype=bool)
        languages = dict.fromkeys(spoken[lost].tolist())
        return {one: (int(lost[spoken == one].sum()), int((spoken == one).sum())) for one in languages}

    def _look(self, id, rows):
        known = np.full(len(rows), UNKNOWN, dtype=np.int64)
        spoken = self.pairs.languages[rows]
        for language in np.unique(spoken):
            answers = drop_closed_answers(self.answers.get(str(language), {}).get(id, ()))
            if answers:
                here = spoken == language
                places = np.searchsorted(self.rows[str(language)], rows[here])
                known[here] = self.finders[str(language)].holds(answers, places)
        return known


def find_answering_passages(
    dataset: Dataset, source: File, languages: Sequence[str], pairs: Pairs
) -> AnsweringPassages:
    """Search the pool for the data set's own answers, and print which questions have theirs nowhere."""
    answered = AnsweringPassages(pairs, collect_answers(dataset, source, languages))
    lost = answered.without()
    if sum(count for count, _ in lost.values()) == len(pairs.questions):
        raise DataError(
            f"{dataset.name}: no passage holds the answer of a train question, which pairs.self_train needs; give "
            "answers, as SQuAD files have them or under 'answers' in questions.jsonl"
        )
    if lost:
        counts = ", ".join(f"{count} of {all_} in {language}" for language, (count, all_) in lost.items())
        say(f"questions whose answer no passage holds, nothing is mined for them: {counts}")
    return answered


def collect_answers(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read the answers of a data set.

    Returns the answers by language and question id. The documents' language also has those of questions that are asked
    in other languages only.
    """
    answers = read_answers(dataset, source, languages)
    in_documents = answers[dataset.document_language]
    for language in languages:
        for question in dataset.questions[language].values():
            in_documents[question.id] = in_documents.get(question.id) or question.answers
    return answers
