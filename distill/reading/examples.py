"""Examples, which a reader learns from and is measured on: a question, its passage and the span that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder
from ..retrieval.exact import top_k
from ..system.progress import task

# Passages that are looked through for one that does not answer.
NEAREST = 10
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
        without_answer(example, other)
        for example, wanted in zip(examples, chosen, strict=True)
        if wanted and (other := _another(example, passages, draws))
    ]


def without_answer(example: Example, passage: Text) -> Example:
    """Return the example on a passage that does not answer it."""
    return replace(example, passage=passage, place=None, answers=())


def answered_by(example: Example, passage: Text) -> bool:
    """True of the example's own passage, and of one that holds an answer's text."""
    text = passage.text.casefold()
    return passage.text == example.passage.text or any(answer.casefold() in text for answer in example.answers)


def _another(example: Example, passages: Mapping[str, Sequence[Text]], draws: np.random.Generator) -> Text | None:
    pool = passages[example.passage.language]
    other = pool[int(draws.integers(len(pool)))]
    return None if answered_by(example, other) else other


def retrieved(examples: Sequence[Example], share: float, seed: int, encoder: Encoder) -> list[Example]:
    """Return a `share` of the examples with the nearest other passage of the same language, where nothing answers them.

    Nearest by the encoder's vectors, of the passages of all examples that do not hold an answer's text. A reader
    learns so from what a retriever finds, as in Sorokin et al. (2022), Sentri, section 5.
    """
    drawn = np.random.default_rng((seed, 5)).random(len(examples)) < share
    result = []
    for language in dict.fromkeys(example.passage.language for example in examples):
        rows = [row for row, example in enumerate(examples) if example.passage.language == language]
        passages = {examples[row].passage.text: examples[row].passage for row in rows}
        chosen = [examples[row] for row in rows if drawn[row]]
        result += _nearest(chosen, list(passages.values()), encoder)
    return result


def _nearest(examples: Sequence[Example], passages: Sequence[Text], encoder: Encoder) -> list[Example]:
    if not examples:
        return []
    with task("passages that do not answer", len(examples) + len(passages)) as advance:
        questions = encoder.encode([one.question for one in examples], "question", advance)
        vectors = encoder.encode([one.text for one in passages], "document", advance)
    rows, _ = top_k(questions, vectors, min(NEAREST, len(passages)))
    others = (
        next((passages[place] for place in row if not answered_by(example, passages[place])), None)
        for example, row in zip(examples, rows.tolist(), strict=True)
    )
    return [without_answer(example, other) for example, other in zip(examples, others, strict=True) if other]
