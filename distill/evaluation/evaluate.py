"""One code path from an encoder to its figures, whatever the encoder is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder
from ..encoders.health import collapsed, require_finite, told
from ..retrieval.metrics import SUMMARY, summary
from ..retrieval.units import ranks_of
from ..settings.choices import UNITS
from ..settings.units import kinds_of
from ..system.extras import require_training
from ..system.progress import say
from ..system.types import Floats, Integers, Progress
from .spoken import languages_of_head

if TYPE_CHECKING:
    from .token_recall import Recalls

# The rank, from 1, of each question's answer, int `(q,)`, by unit and by language.
Ranks: TypeAlias = dict[str, dict[str, Integers]]


@dataclass(frozen=True)
class Evaluation:
    """One encoder on one split: `ranks[unit][language]`, int `(q,)`; `recall` by metric, as `token_recall` has it.

    `spoken` are the languages of the nearest passages, as `languages_of_head` has them.
    """

    encoder: str
    split: str
    ranks: Ranks
    recall: dict[str, Recalls] = field(default_factory=dict)
    spoken: dict[str, dict[str, float]] = field(default_factory=dict)

    def table(self, metrics: Sequence[str] = SUMMARY) -> dict[str, dict[str, dict[str, float]]]:
        """`{unit: {language: metrics}}`."""
        return {
            unit: {language: summary(ranks, metrics) for language, ranks in by_language.items()}
            for unit, by_language in self.ranks.items()
        }

    def recalls(self) -> dict[str, dict[str, dict[str, float]]]:
        """`{metric: {language: {"recall", "questions"}}}`."""
        return {
            metric: {
                language: {"recall": float(np.mean(hits)), "questions": len(hits)}
                for language, (_, hits) in by_language.items()
            }
            for metric, by_language in self.recall.items()
        }

    def mean(self, unit: str, languages: Sequence[str], metric: str = "p@1") -> float:
        """The mean of a metric over languages, each language with the same weight."""
        return float(np.mean([summary(self.ranks[unit][language])[metric] for language in languages]))


def evaluate(
    encoder: Encoder,
    dataset: Dataset,
    split: str,
    languages: Sequence[str],
    units: Sequence[str] = UNITS,
    progress: Progress | None = None,
    recalls: Sequence[str] = (),
) -> Evaluation:
    """Encode the documents and every language's questions of a split, and rank.

    `recalls`: metrics of `token_recall`, for which passages are encoded too. A collapsed encoder is warned of.
    """
    if recalls:
        require_training("nltk")
    vectors = encode_units(encoder, dataset, needed_units(units, recalls), progress)
    questions = encode_questions(encoder, dataset, split, languages, progress)
    ids = [question.id for language in languages for question in dataset.select(language, split)]
    if (cosine := collapsed(np.concatenate([*questions.values()]), ids)) is not None:
        say(told(encoder.name, cosine))
    recall = {}
    if recalls:
        from .token_recall import token_recall

        recall = token_recall(questions, vectors["passage"], dataset, split, recalls)
    spoken = languages_of_head(questions, vectors["passage"], dataset) if "passage" in vectors else {}
    return Evaluation(encoder.name, split, rank(questions, vectors, dataset, split, units), recall, spoken)


def needed_units(units: Sequence[str], recalls: Sequence[str]) -> tuple[str, ...]:
    """The units to encode: recall by tokens is of passages."""
    return (*units, "passage") if recalls else tuple(units)


def encode_questions(
    encoder: Encoder, dataset: Dataset, split: str, languages: Sequence[str], progress: Progress | None = None
) -> dict[str, Floats]:
    """`{language: float32 (q, d)}` of a split's questions. Raises `EncoderError` for vectors that are no numbers."""
    texts = {language: [question.text for question in dataset.select(language, split)] for language in languages}
    return {
        language: require_finite(encoder.encode(questions, "question", progress), encoder)
        for language, questions in texts.items()
    }


def encode_units(
    encoder: Encoder, dataset: Dataset, units: Sequence[str] = UNITS, progress: Progress | None = None
) -> dict[str, Floats]:
    """`{kind of text: float32 (n, d)}` of what the units are scored by. Errors as of `encode_questions`."""
    return {
        kind: require_finite(encoder.encode(dataset.texts(kind), "document", progress), encoder)
        for kind in kinds_of(units)
    }


def rank(
    questions: Mapping[str, Floats],
    vectors: Mapping[str, Floats],
    dataset: Dataset,
    split: str,
    units: Sequence[str] = UNITS,
) -> Ranks:
    """Return the `Ranks` of vectors as `encode_questions` and `encode_units` give them."""
    ranks: Ranks = {unit: {} for unit in units}
    whole_of = dataset.whole_of(tuple(vectors))
    for language, encoded in questions.items():
        gold = np.array([question.passage for question in dataset.select(language, split)])
        for unit in units:
            ranks[unit][language] = ranks_of(unit, encoded, vectors, gold, whole_of)
    return ranks


def evaluation_size(
    dataset: Dataset, splits: Sequence[str], languages: Sequence[str], units: Sequence[str] = UNITS
) -> int:
    """The number of texts that are encoded to evaluate on some splits, for a progress bar."""
    searched = [len(dataset.texts(kind)) for kind in kinds_of(units)]
    questions = [len(dataset.select(language, split)) for split in splits for language in languages]
    return sum(searched) + sum(questions)
