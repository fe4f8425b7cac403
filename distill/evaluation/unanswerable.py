"""Questions with and without an answer: the first passages of each, with its documents there or taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder
from ..export.encode import COMPARED
from ..retrieval.blocks import Product, spans
from ..retrieval.units import candidates_of
from ..settings.choices import PASSAGE_SCORES
from ..settings.units import NAMES, Unit, kinds_of
from ..system.types import Booleans, Floats, Integers, Progress
from .evaluate import encode_questions, encode_units

# Questions that are scored at once.
AT_ONCE = 128
# The score of what is taken out.
OUT = -np.inf


@dataclass(frozen=True)
class Cases:
    """Rankings of passages: the scores of the first `COMPARED`, float32 `(n, COMPARED)`, NaN where there are fewer.

    `right`, bool `(n,)`: the first is the question's passage; `there`: its documents are among those searched;
    `question` is the number of its id, `language` its own, `share` that of the other articles that are searched.
    """

    first: Floats
    right: Booleans
    there: Booleans
    question: Integers
    language: NDArray[np.str_]
    share: Floats

    def __len__(self) -> int:
        return len(self.right)

    def of(self, rows: Booleans | Integers) -> Cases:
        """Some of them."""
        return Cases(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Cases]) -> Cases:
        """All of several, one after the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True)
class Encoded:
    """A data set's questions of a split, by language `(q, d)`, and its texts by kind `(n, d)`."""

    dataset: Dataset
    split: str
    questions: Mapping[str, Floats]
    vectors: Mapping[str, Floats]


def units_of(scores: Sequence[str]) -> list[str]:
    """The names of the units of passages that have these scores."""
    return [NAMES[Unit("passage", score)] for score in scores]


def encode(
    encoder: Encoder,
    dataset: Dataset,
    split: str,
    languages: Sequence[str],
    scores: Sequence[str] = PASSAGE_SCORES,
    progress: Progress | None = None,
) -> Encoded:
    """Encode what passages are scored by. Raises `EncoderError` for vectors that are no numbers."""
    vectors = encode_units(encoder, dataset, units_of(scores), progress)
    return Encoded(dataset, split, encode_questions(encoder, dataset, split, languages, progress), vectors)


def articles(dataset: Dataset) -> Integers:
    """Return the article of each passage, int `(passages,)`: documents of one title are one article."""
    numbers: dict[str | int, int] = {}
    of_document = [numbers.setdefault(title or number, len(numbers)) for number, title in enumerate(dataset.titles)]
    return np.array([of_document[passage.document] for passage in dataset.passages], dtype=np.int64)


def with_and_without(encoded: Encoded, score: str, shares: Sequence[float] = (1.0,), seed: int = 0) -> Cases:
    """Return two cases of each question for each share of the other articles: with its own article, and without it.

    The articles of a share below 1 are drawn by the seed, the same for all questions.
    """
    article_of, generator = articles(encoded.dataset), np.random.default_rng(seed)
    kept = [generator.random(article_of.max(initial=0) + 1) < share for share in shares]
    return Cases.joined(
        [
            part.cases(one[article_of], article_of, share)
            for part in _parts(encoded, score)
            for one, share in zip(kept, shares, strict=True)
        ]
    )


def half_without(encoded: Encoded, score: str, seed: int = 0) -> Cases:
    """Return a case of each question, in the order of languages and questions: half of all ids without their article.

    The ids are drawn by the seed; a question and its translations are alike.
    """
    article_of, ids = articles(encoded.dataset), _ids(encoded)
    without = np.zeros(len(ids), dtype=bool)
    without[np.random.default_rng(seed).permutation(len(ids))[: len(ids) // 2]] = True
    everything, cases = np.ones(len(article_of), dtype=bool), []
    for part in _parts(encoded, score):
        both, many = part.cases(everything, article_of, 1.0), len(part.gold)
        cases.append(both.of(np.arange(many) + many * without[part.question]))
    return Cases.joined(cases)


@dataclass(frozen=True)
class _Part:
    """Some questions of a language: their scores `(q, passages)`, passages and numbers."""

    scores: Floats
    gold: Integers
    question: Integers
    language: str

    def cases(self, kept: Booleans, article_of: Integers, share: float) -> Cases:
        """The questions among the `kept` passages `(passages,)` and those of their own article, then without these."""
        alike = article_of == article_of[self.gold][:, None]
        there = np.where(kept | alike, self.scores, OUT)
        return Cases.joined([self._ranked(there, True, share), self._ranked(np.where(alike, OUT, there), False, share)])

    def _ranked(self, scores: Floats, there: bool, share: float) -> Cases:
        many, kept = len(scores), min(COMPARED, scores.shape[1])
        best = np.sort(np.partition(scores, scores.shape[1] - kept, axis=1)[:, -kept:], axis=1)[:, ::-1]
        first = np.full((many, COMPARED), np.nan, dtype=np.float32)
        first[:, :kept] = np.where(best == OUT, np.nan, best)
        right = (scores.argmax(axis=1) == self.gold) & there
        language = np.full(many, self.language)
        return Cases(first, right, np.full(many, there), self.question, language, np.full(many, share, np.float32))


def _ids(encoded: Encoded) -> dict[str, int]:
    """The ids of the questions in all languages, ascending, with their numbers."""
    selected = (encoded.dataset.select(language, encoded.split) for language in encoded.questions)
    return {id: number for number, id in enumerate(sorted({one.id for questions in selected for one in questions}))}


def _parts(encoded: Encoded, score: str) -> Iterator[_Part]:
    [unit] = units_of([score])
    vectors = {kind: encoded.vectors[kind] for kind in kinds_of([unit])}
    candidates = candidates_of(unit, vectors, encoded.dataset.whole_of(tuple(vectors)))
    ids, everything, product = _ids(encoded), slice(0, len(candidates.vectors)), Product()
    for language, questions in encoded.questions.items():
        selected = encoded.dataset.select(language, encoded.split)
        gold = np.array([one.passage for one in selected], dtype=np.int64)
        numbers = np.array([ids[one.id] for one in selected], dtype=np.int64)
        for rows in spans(len(gold), AT_ONCE):
            yield _Part(candidates.scores(questions[rows], everything, product), gold[rows], numbers[rows], language)
