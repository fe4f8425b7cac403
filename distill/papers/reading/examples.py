"""Examples that a reader learns from and is measured on: a question, its passage and the span that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder
from ...retrieval.exact import top_k
from ...system.progress import task

# Number of nearest passages that are searched for one that does not answer.
NEAREST = 10
# The first character of a span and the one after its last.
Span = tuple[int, int]


@dataclass(frozen=True)
class Text:
    """A text and its language. `cut` is its sentences as `(start, end)` in characters, if they are known."""

    text: str
    language: str
    cut: tuple[Span, ...] = ()

    @property
    def sentences(self) -> tuple[Span, ...]:
        """Return its sentences as `(start, end)` in characters; unknown ones are cut by the rules of its language."""
        from ...vocabulary.words.cutting import find_sentences_cached

        return self.cut or tuple(find_sentences_cached(self.text, self.language))


@dataclass(frozen=True)
class Example:
    """A question with the passage that it is read in.

    `place` is the answer in the passage as `(start, end)` in characters; None if it is unknown or not there.
    """

    id: str
    language: str
    question: str
    passage: Text
    place: Span | None
    answers: tuple[str, ...]

    @property
    def passage_text(self) -> str:
        return self.passage.text


def passage_texts(dataset: Dataset, whole: bool = False) -> list[Text]:
    """Return the passages of a data set, or its documents."""
    if whole:
        return [Text(text, dataset.document_language) for text in dataset.document_texts]
    return [
        Text(passage.text, language, tuple(dataset.sentence_places(row)))
        for row, (passage, language) in enumerate(zip(dataset.passages, dataset.passage_languages, strict=True))
    ]


def gold_examples(dataset: Dataset, split: str, languages: Sequence[str]) -> dict[str, list[Example]]:
    """Return the questions of a split that have answers, each with its passage: `{language: examples}`."""
    passages = passage_texts(dataset)
    return {
        language: [
            Example(one.id, language, one.text, passages[one.passage], None, one.answers)
            for one in dataset.select(language, split)
            if one.answers
        ]
        for language in languages
    }


def make_unanswerable(examples: Sequence[Example], share: float, seed: int) -> list[Example]:
    """Draw a share of the examples and give each a random passage that does not answer it.

    The passage is in the same language and does not contain an answer. `share` is the share of the examples, in [0, 1].
    """
    draws = np.random.default_rng((seed, 5))
    passages: dict[str, list[Text]] = {}
    for example in examples:
        passages.setdefault(example.passage.language, []).append(example.passage)
    chosen = draws.random(len(examples)) < share
    return [
        replace_passage(example, other)
        for example, wanted in zip(examples, chosen, strict=True)
        if wanted and (other := _another(example, passages, draws))
    ]


def replace_passage(example: Example, passage: Text) -> Example:
    """Return an example on a passage that does not answer it."""
    return replace(example, passage=passage, place=None, answers=())


def is_answered_by(example: Example, passage: Text) -> bool:
    """Return True if a passage is the example's own or contains one of its answers."""
    text = passage.text.casefold()
    return passage.text == example.passage.text or any(answer.casefold() in text for answer in example.answers)


def _another(example: Example, passages: Mapping[str, Sequence[Text]], draws: np.random.Generator) -> Text | None:
    pool = passages[example.passage.language]
    other = pool[int(draws.integers(len(pool)))]
    return None if is_answered_by(example, other) else other


def make_hard_unanswerable(examples: Sequence[Example], share: float, seed: int, encoder: Encoder) -> list[Example]:
    """Draw a share of the examples and give each the nearest passage that does not answer it.

    Candidates are the passages of all examples in the same language, compared by the encoder's vectors. A reader so
    learns from what a retriever finds, as in Sorokin et al. (2022), Sentri, section 5.
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
        next((passages[place] for place in row if not is_answered_by(example, passages[place])), None)
        for example, row in zip(examples, rows.tolist(), strict=True)
    )
    return [replace_passage(example, other) for example, other in zip(examples, others, strict=True) if other]
