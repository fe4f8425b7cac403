"""Questions that a student won and lost against its base, each with the passage that its bundle has first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.dataset import Dataset, Question
from ..encoders.encoder import Encoder
from ..retrieval.blocks import Product
from ..retrieval.units import candidates_of
from ..settings.units import BY_NAME, NAMES, Unit
from ..system.types import Floats
from ..words.answer_sentences import answer_sentence
from .evaluate import Evaluation

# Their name in `metrics.json`.
EXAMPLES = "examples"
# Of those that were won, and of those that were lost.
MOST = 6
# Characters of a passage that are kept on either side of its sentence.
AROUND = 400


@dataclass(frozen=True)
class Excerpt:
    """A passage of the document `title` in three pieces: a `sentence`, empty where none is apart, and those around."""

    title: str
    before: str
    sentence: str
    after: str


@dataclass(frozen=True)
class Example:
    """A question, the `nearest` passage with the sentence nearest to it, and of a lost one the `right` passage."""

    id: str
    language: str
    question: str
    nearest: Excerpt
    right: Excerpt | None


@dataclass(frozen=True)
class Examples:
    """Questions of a split, by a unit: `won` are those that student and bundle have first and the base has not.

    `lost` are those that the base alone has first; `questions_won` and `questions_lost` count all of them.
    """

    split: str
    unit: str
    questions_won: int
    questions_lost: int
    won: list[Example]
    lost: list[Example]


@dataclass(frozen=True)
class Encoded:
    """An encoder with its vectors: `questions` by language `(q, d)`, and `vectors` by kind of text `(n, d)`."""

    encoder: Encoder
    questions: Mapping[str, Floats]
    vectors: Mapping[str, Floats]


def choose_examples(
    dataset: Dataset, evaluations: Mapping[str, Evaluation], encoded: Encoded, unit: str, seed: int = 0
) -> Examples:
    """The `Examples` of one split; `evaluations` are of base, student and bundle, whose vectors `encoded` has."""
    split = evaluations["bundle"].split
    first = {name: evaluations[name].ranks[unit] for name in ("base", "student", "bundle")}
    won, lost = [], []
    for language in first["base"]:
        base, student, bundle = (first[name][language] == 1 for name in ("base", "student", "bundle"))
        numbered = list(enumerate(dataset.select(language, split)))
        won += [(question, row) for row, question in numbered if student[row] and bundle[row] and not base[row]]
        lost += [(question, row) for row, question in numbered if base[row] and not student[row] and not bundle[row]]
    shown = [
        [_example(dataset, encoded, unit, question, row, right) for question, row in spread(rows, seed)]
        for rows, right in ((won, False), (lost, True))
    ]
    return Examples(split, unit, len(won), len(lost), *shown)


def spread(rows: Sequence[tuple[Question, int]], seed: int, most: int = MOST) -> list[tuple[Question, int]]:
    """At most so many `(question, row)`, drawn by the seed: of as many languages, then of as many ids, as there are."""
    rest = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]
    taken: list[tuple[Question, int]] = []
    while rest and len(taken) < most:
        languages, ids = [question.language for question, _ in taken], [question.id for question, _ in taken]
        # The first of equals: the draw decides.
        best = min(range(len(rest)), key=lambda at: (languages.count(rest[at][0].language), ids.count(rest[at][0].id)))
        taken.append(rest.pop(best))
    return taken


def _example(dataset, encoded, unit, question, row, with_right):
    vector = encoded.questions[question.language][row]
    passage = nearest_passage(dataset, encoded.vectors, vector, unit)
    start, end = _nearest_sentence(dataset, encoded, vector, passage)
    right = _right(dataset, question) if with_right else None
    nearest = excerpt(dataset, passage, start, end)
    return Example(question.id, question.language, question.text, nearest, right)


def nearest_passage(dataset: Dataset, vectors: Mapping[str, Floats], question: Floats, unit: str) -> int:
    """The passage that a unit has first for a question `(d,)`; of a unit of documents the first one's best passage."""
    whole_of, ranked = dataset.whole_of(tuple(vectors)), BY_NAME[unit]

    def scores(name):
        candidates = candidates_of(name, vectors, whole_of)
        return candidates.scores(question[None], slice(0, len(candidates.vectors)), Product())[0]

    best = int(np.argmax(scores(unit)))
    if ranked.rank == "passage":
        return best
    # Passages by the same score, or where they have it not, as with maxp, by their vectors.
    of_passages = scores(NAMES.get(Unit("passage", ranked.score), "passage"))
    return int(np.argmax(np.where(dataset.document_of == best, of_passages, -np.inf)))


def _nearest_sentence(dataset, encoded, question, passage):
    """The start and the end of the sentence nearest to a question; where sentences have no vectors they get them."""
    places = dataset.sentence_places(passage)
    if "sentence" in encoded.vectors:
        first = int(np.searchsorted(dataset.sentences.passage_of, passage))
        vectors = encoded.vectors["sentence"][first : first + len(places)]
    else:
        text = dataset.passages[passage].text
        vectors = encoded.encoder.encode([text[start:end] for start, end in places], "document")
    return places[int(np.argmax(vectors @ question))]


def _right(dataset, question):
    """The right passage, the answer's sentence apart where the data says which it is."""
    passage, places = dataset.passages[question.passage], dataset.sentence_places(question.passage)
    language = dataset.passage_languages[question.passage]
    sentence = answer_sentence(passage.text, question.answers, language, places) or ""
    start = passage.text.find(sentence)
    return excerpt(dataset, question.passage, start, start + len(sentence))


def excerpt(dataset: Dataset, passage: int, start: int, end: int) -> Excerpt:
    """The `Excerpt` of a passage with its sentence from `start` to `end`; what is cut off shows as an ellipsis."""
    text, title = dataset.passages[passage].text, dataset.titles[dataset.passages[passage].document]
    before, after = text[:start], text[end:]
    if len(before) > AROUND:
        before = f"…{before[-AROUND:].partition(' ')[2] or before[-AROUND:]}"
    if len(after) > AROUND:
        after = f"{after[:AROUND].rpartition(' ')[0] or after[:AROUND]}…"
    return Excerpt(title, before, text[start:end], after)
