"""Examples, which a reader learns from and is measured on: a question, its passage and the span that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.dataset import Dataset

# The beginning and the end of a span, in characters.
Span = tuple[int, int]


@dataclass(frozen=True)
class Text:
    """A text and its language; `cut` are its sentences as `(start, end)` in characters, where they are known."""

    text: str
    language: str
    cut: tuple[Span, ...] = ()

    @property
    def sentences(self) -> tuple[Span, ...]:
        """Its sentences, as they are known, else by its language."""
        from ..words.sentences import sentence_places

        return self.cut or tuple(sentence_places(self.text, self.language))


@dataclass(frozen=True)
class Example:
    """A question in a language, the passage that it is read in, and the place of its answer there, if it has one.

    `answers` are all that count as right.
    """

    id: str
    language: str
    question: str
    passage: Text
    place: Span | None
    answers: tuple[str, ...]

    @property
    def passage_text(self) -> str:
        """The text of its passage."""
        return self.passage.text


def passage_texts(dataset: Dataset, whole: bool = False) -> list[Text]:
    """Return the passages of a data set, or its `whole` documents."""
    if whole:
        return [Text(text, dataset.document_language) for text in dataset.document_texts]
    return [
        Text(passage.text, language, tuple(dataset.sentence_places(row)))
        for row, (passage, language) in enumerate(zip(dataset.passages, dataset.passage_languages, strict=True))
    ]


def gold_examples(dataset: Dataset, split: str, languages: Sequence[str]) -> dict[str, list[Example]]:
    """`{language: examples}` of a data set's split: each question that has answers, with its own passage."""
    passages = passage_texts(dataset)
    return {
        language: [
            Example(one.id, language, one.text, passages[one.passage], None, one.answers)
            for one in dataset.select(language, split)
            if one.answers
        ]
        for language in languages
    }


def unanswered(examples: Sequence[Example], share: float, seed: int) -> list[Example]:
    """Return a `share` of the examples with another passage of the same language, where nothing answers them.

    The passage is one drawn from those that do not hold an answer's text.
    """
    draws = np.random.default_rng((seed, 5))
    passages: dict[str, list[Text]] = {}
    for example in examples:
        passages.setdefault(example.passage.language, []).append(example.passage)
    chosen = draws.random(len(examples)) < share
    return [
        replace(example, passage=other, place=None, answers=())
        for example, wanted in zip(examples, chosen, strict=True)
        if wanted and (other := _another(example, passages, draws))
    ]


def _another(example: Example, passages: Mapping[str, Sequence[Text]], draws: np.random.Generator) -> Text | None:
    pool = passages[example.passage.language]
    other = pool[int(draws.integers(len(pool)))]
    answers = [answer.casefold() for answer in example.answers]
    held = other.text == example.passage.text or any(answer in other.text.casefold() for answer in answers)
    return None if held else other
