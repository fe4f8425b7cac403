"""Example questions that a student won and lost against its base, each with the passage that its bundle ranks first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.dataset import Dataset, Question
from ..encoders.encoder import Encoder
from ..retrieval.blocks import Product
from ..retrieval.units import candidates_of
from ..settings.choices import NAMES_OF_UNITS, UNITS_BY_NAME, Unit
from ..system.types import Floats
from ..vocabulary.words.answer_finder import find_answer_sentence
from .evaluate import Evaluation

# The key of the examples in `metrics.json`.
EXAMPLES = "examples"
# So many questions are shown of those won, and as many of those lost.
MOST = 6
# Characters that an excerpt keeps on either side of its sentence.
AROUND = 400


@dataclass(frozen=True)
class Excerpt:
    """A part of a passage, cut into three. `sentence` is the sentence; empty if none is set apart."""

    title: str
    before: str
    sentence: str
    after: str


@dataclass(frozen=True)
class Example:
    """A question, the passage and sentence nearest to it, and the `right` passage if the question was lost."""

    id: str
    language: str
    question: str
    nearest: Excerpt
    right: Excerpt | None


@dataclass(frozen=True)
class Examples:
    """Questions that student and bundle rank first and the base does not, or the base alone, with their numbers."""

    split: str
    unit: str
    questions_won: int
    questions_lost: int
    won: list[Example]
    lost: list[Example]


@dataclass(frozen=True)
class EncodedTexts:
    """An encoder with the vectors that it gave to questions by language, and to texts by kind."""

    encoder: Encoder
    questions: Mapping[str, Floats]
    vectors: Mapping[str, Floats]


def choose_examples(
    dataset: Dataset, evaluations: Mapping[str, Evaluation], encoded: EncodedTexts, unit: str, seed: int = 0
) -> Examples:
    """Choose questions of one split that were won and lost, by the evaluations of "base", "student" and "bundle"."""
    split = evaluations["bundle"].split
    first = {name: evaluations[name].ranks[unit] for name in ("base", "student", "bundle")}
    won, lost = [], []
    for language in first["base"]:
        base, student, bundle = (first[name][language] == 1 for name in ("base", "student", "bundle"))
        numbered = list(enumerate(dataset.select(language, split)))
        won += [(question, row) for row, question in numbered if student[row] and bundle[row] and not base[row]]
        lost += [(question, row) for row, question in numbered if base[row] and not student[row] and not bundle[row]]
    shown = [
        [_example(dataset, encoded, unit, question, row, right) for question, row in choose_diverse(rows, seed)]
        for rows, right in ((won, False), (lost, True))
    ]
    return Examples(split, unit, len(won), len(lost), *shown)


def choose_diverse(rows: Sequence[tuple[Question, int]], seed: int, most: int = MOST) -> list[tuple[Question, int]]:
    """Choose rows from as many languages, and then from as many question ids, as there are."""
    rest = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]
    taken: list[tuple[Question, int]] = []
    while rest and len(taken) < most:
        languages, ids = [question.language for question, _ in taken], [question.id for question, _ in taken]
        # Among equals the first is taken, so the draw decides.
        best = min(range(len(rest)), key=lambda at: (languages.count(rest[at][0].language), ids.count(rest[at][0].id)))
        taken.append(rest.pop(best))
    return taken


def _example(dataset, encoded, unit, question, row, with_right):
    vector = encoded.questions[question.language][row]
    passage = find_nearest_passage(dataset, encoded.vectors, vector, unit)
    start, end = _nearest_sentence(dataset, encoded, vector, passage)
    right = _right(dataset, question) if with_right else None
    nearest = cut_excerpt(dataset, passage, start, end)
    return Example(question.id, question.language, question.text, nearest, right)


def find_nearest_passage(dataset: Dataset, vectors: Mapping[str, Floats], question: Floats, unit: str) -> int:
    """Return the passage that a unit ranks first; of a unit of documents, the best passage of the first document."""
    whole_of, ranked = dataset.whole_of(tuple(vectors)), UNITS_BY_NAME[unit]

    def scores(name):
        candidates = candidates_of(name, vectors, whole_of)
        return candidates.scores(question[None], slice(0, len(candidates.vectors)), Product())[0]

    best = int(np.argmax(scores(unit)))
    if ranked.rank == "passage":
        return best
    # Passages are compared by the same score or, where they have none as with maxp, by their vectors.
    of_passages = scores(NAMES_OF_UNITS.get(Unit("passage", ranked.score), "passage"))
    return int(np.argmax(np.where(dataset.document_of == best, of_passages, -np.inf)))


def _nearest_sentence(dataset, encoded, question, passage):
    """Return the start and the end of the sentence nearest to a question; sentences without vectors are encoded."""
    places = dataset.sentence_places(passage)
    if "sentence" in encoded.vectors:
        first = int(np.searchsorted(dataset.sentences.passage_of, passage))
        vectors = encoded.vectors["sentence"][first : first + len(places)]
    else:
        text = dataset.passages[passage].text
        vectors = encoded.encoder.encode([text[start:end] for start, end in places], "document")
    return places[int(np.argmax(vectors @ question))]


def _right(dataset, question):
    """Return the right passage, with the answer's sentence set apart if the data says which it is."""
    passage, places = dataset.passages[question.passage], dataset.sentence_places(question.passage)
    language = dataset.passage_languages[question.passage]
    sentence = find_answer_sentence(passage.text, question.answers, language, places) or ""
    start = passage.text.find(sentence)
    return cut_excerpt(dataset, question.passage, start, start + len(sentence))


def cut_excerpt(dataset: Dataset, passage: int, start: int, end: int) -> Excerpt:
    """Cut a passage into a sentence and the text around it; an ellipsis shows where text is left out."""
    text, title = dataset.passages[passage].text, dataset.titles[dataset.passages[passage].document]
    before, after = text[:start], text[end:]
    if len(before) > AROUND:
        before = f"…{before[-AROUND:].partition(' ')[2] or before[-AROUND:]}"
    if len(after) > AROUND:
        after = f"{after[:AROUND].rpartition(' ')[0] or after[:AROUND]}…"
    return Excerpt(title, before, text[start:end], after)
