"""Questions with and without an answer: rankings whose right documents are searched or left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder, passage_weight_of
from ..export.encode import COMPARED
from ..retrieval.blocks import Product, spans
from ..retrieval.exact import ranks
from ..retrieval.units import candidates_of, list_right
from ..settings.choices import NAMES_OF_UNITS, PASSAGE_SCORES, Unit, list_text_kinds
from ..system.types import Booleans, Doubles, Floats, Integers, Progress
from .evaluate import encode_questions, encode_units

# Number of questions that are scored at once.
AT_ONCE = 128
# The score of passages that are left out.
EXCLUDED = -np.inf
# The size of a collection that is searched as it is.
WHOLE = None


@dataclass(frozen=True)
class Cases:
    """Rankings of passages, n in number.

    Attributes:
        first: Float32 array `(n, COMPARED)`, the scores of the first passages; NaN where there are fewer.
        right: Boolean array `(n,)`, true if the passage that answers the question is first; ties count against it.
        there: Boolean array `(n,)`, true if the question's documents are among those searched.
        question: Integer array `(n,)`, the number of the question's id.
        language: Array `(n,)`, the language of the question.
        passages: Integer array `(n,)`, the number of passages searched.
    """

    first: Floats
    right: Booleans
    there: Booleans
    question: Integers
    language: NDArray[np.str_]
    passages: Integers

    def __len__(self) -> int:
        return len(self.right)

    def of(self, rows: Booleans | Integers) -> Cases:
        """Return the cases of some rows, given as a boolean or an integer array."""
        return Cases(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def concatenate(cls, parts: Sequence[Cases]) -> Cases:
        """Return the cases of several parts, one after the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True)
class EncodedSplit:
    """A split of a data set as vectors, and the weight of a passage beside its best sentence in the score "sum"."""

    dataset: Dataset
    split: str
    questions: Mapping[str, Floats]
    vectors: Mapping[str, Floats]
    passage_weight: float = 1.0


def units_of(scores: Sequence[str]) -> list[str]:
    """Return the names of the units that rank passages by these scores."""
    return [NAMES_OF_UNITS[Unit("passage", score)] for score in scores]


def encode(
    encoder: Encoder,
    dataset: Dataset,
    split: str,
    languages: Sequence[str],
    scores: Sequence[str] = PASSAGE_SCORES,
    progress: Progress | None = None,
) -> EncodedSplit:
    """Encode the questions of a split and the texts that passages are scored by."""
    vectors = encode_units(encoder, dataset, units_of(scores), progress)
    questions = encode_questions(encoder, dataset, split, languages, progress)
    return EncodedSplit(dataset, split, questions, vectors, passage_weight_of(encoder))


def number_articles(dataset: Dataset) -> Integers:
    """Return the article of each passage as an integer array `(passages,)`; documents of one title are one article."""
    numbers: dict[str | int, int] = {}
    of_document = [numbers.setdefault(title or number, len(numbers)) for number, title in enumerate(dataset.titles)]
    return np.array([of_document[passage.document] for passage in dataset.passages], dtype=np.int64)


def paired_cases(encoded: EncodedSplit, score: str, sizes: Sequence[int | None] = (WHOLE,), seed: int = 0) -> Cases:
    """Return two cases of each question and size of a collection: with its own article and without it.

    Each question has passages of its own, drawn by the seed: the one that answers and others, or others than its
    article's. Collections that have no more passages than a size are left out.
    """
    article_of, generator = number_articles(encoded.dataset), np.random.default_rng(seed)
    return Cases.concatenate(
        [
            part.cut(article_of, size, generator)
            for part in _parts(encoded, score)
            for size in sizes
            if size is WHOLE or size < len(article_of)
        ]
    )


def half_unanswerable_cases(encoded: EncodedSplit, score: str, seed: int = 0) -> Cases:
    """Return one case of each question; half of all ids, with their translations, are asked without their article."""
    article_of, ids = number_articles(encoded.dataset), _ids(encoded)
    without = np.zeros(len(ids), dtype=bool)
    without[np.random.default_rng(seed).permutation(len(ids))[: len(ids) // 2]] = True
    cases = []
    for part in _parts(encoded, score):
        both, count = part.cut(article_of, WHOLE, np.random.default_rng(seed)), len(part.gold)
        cases.append(both.of(np.arange(count) + count * without[part.question]))
    return Cases.concatenate(cases)


@dataclass(frozen=True)
class _Part:
    """Some questions of a language, with scores `(q, passages)`, right passages, numbers and first copies."""

    scores: Floats
    gold: Integers
    question: Integers
    language: str
    first_of: Integers

    def cut(self, article_of: Integers, size: int | None, generator: np.random.Generator) -> Cases:
        """Return the cases among so many passages with those that answer, then without the question's article."""
        alike = (article_of == article_of[self.gold][:, None]) | (self.first_of == self.first_of[self.gold][:, None])
        places = np.arange(len(self.gold))
        if size is WHOLE:
            return Cases.concatenate([self._rank_scores(alike | True, True), self._rank_scores(~alike, False)])
        order = generator.random(alike.shape)
        order[places, self.gold] = -1.0
        there = _keep_least(order, size)
        order[alike] = 2.0
        return Cases.concatenate(
            [self._rank_scores(there, True), self._rank_scores(_keep_least(order, size) & ~alike, False)]
        )

    def _rank_scores(self, kept: Booleans, there: bool) -> Cases:
        scores = np.where(kept, self.scores, EXCLUDED)
        count, shown = len(scores), min(COMPARED, scores.shape[1])
        best = np.sort(np.partition(scores, scores.shape[1] - shown, axis=1)[:, -shown:], axis=1)[:, ::-1]
        first = np.full((count, COMPARED), np.nan, dtype=np.float32)
        first[:, :shown] = np.where(best == EXCLUDED, np.nan, best)
        right = (ranks(scores, self.gold, list_right(self.gold, self.first_of)) == 1) & there
        language = np.full(count, self.language)
        return Cases(first, right, np.full(count, there), self.question, language, kept.sum(axis=1))


def _keep_least(order: Doubles, size: int) -> Booleans:
    """Return a boolean array that is true for the so many least numbers of each row."""
    kept = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(kept, np.argpartition(order, size - 1, axis=1)[:, :size], True, axis=1)
    return kept


def _ids(encoded: EncodedSplit) -> dict[str, int]:
    """Return the ids of the questions in all languages, in ascending order, with their numbers."""
    selected = (encoded.dataset.select(language, encoded.split) for language in encoded.questions)
    return {id: number for number, id in enumerate(sorted({one.id for questions in selected for one in questions}))}


def _parts(encoded: EncodedSplit, score: str) -> Iterator[_Part]:
    [unit] = units_of([score])
    vectors = {kind: encoded.vectors[kind] for kind in list_text_kinds([unit])}
    candidates = candidates_of(unit, vectors, encoded.dataset.whole_of(tuple(vectors)), encoded.passage_weight)
    ids, everything, product = _ids(encoded), slice(0, len(candidates.vectors)), Product()
    for language, questions in encoded.questions.items():
        selected = encoded.dataset.select(language, encoded.split)
        gold = np.array([one.passage for one in selected], dtype=np.int64)
        numbers = np.array([ids[one.id] for one in selected], dtype=np.int64)
        for rows in spans(len(gold), AT_ONCE):
            scores = candidates.scores(questions[rows], everything, product)
            yield _Part(scores, gold[rows], numbers[rows], language, encoded.dataset.first_of)
