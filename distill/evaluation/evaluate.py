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
from ..typed.kinds import has_kind
from ..typed.kinds import typed as as_typed
from .bm25 import Bm25, WordScores
from .spoken import languages_of_head

if TYPE_CHECKING:
    from .token_recall import Recalls

# The rank, from 1, of each question's answer, int `(q,)`, by unit and by language.
Ranks: TypeAlias = dict[str, dict[str, Integers]]
# Metrics by unit and by language.
Figures: TypeAlias = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Typed:
    """The `kinds` of `choices.TYPED` that questions are measured in too, drawn by `seed`."""

    kinds: Sequence[str] = ()
    seed: int = 0


@dataclass(frozen=True)
class Evaluation:
    """One encoder on one split: `ranks[unit][language]`, int `(q,)`; `recall` by metric, as `token_recall` has it.

    `spoken` are the languages of the nearest passages, as `languages_of_head` has them. `typed[kind]` are the ranks of
    the questions as people type them, of the languages that have the kind.
    """

    encoder: str
    split: str
    ranks: Ranks
    recall: dict[str, Recalls] = field(default_factory=dict)
    spoken: dict[str, dict[str, float]] = field(default_factory=dict)
    typed: dict[str, Ranks] = field(default_factory=dict)

    def table(self, metrics: Sequence[str] = SUMMARY) -> Figures:
        """`{unit: {language: metrics}}`."""
        return _table(self.ranks, metrics)

    def typed_table(self, metrics: Sequence[str] = SUMMARY) -> dict[str, Figures]:
        """`{kind: {unit: {language: metrics}}}` of questions as people type them."""
        return {kind: _table(ranks, metrics) for kind, ranks in self.typed.items()}

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


def _table(ranks, metrics):
    return {
        unit: {language: summary(each, metrics) for language, each in by_language.items()}
        for unit, by_language in ranks.items()
    }


def evaluate(
    encoder: Encoder,
    dataset: Dataset,
    split: str,
    languages: Sequence[str],
    units: Sequence[str] = UNITS,
    progress: Progress | None = None,
    recalls: Sequence[str] = (),
    typed: Typed | None = None,
) -> Evaluation:
    """Encode the documents and every language's questions of a split, and rank; the questions as `typed` too.

    `recalls`: metrics of `token_recall`, for which passages are encoded too. A collapsed encoder is warned of.
    """
    if recalls:
        require_training("nltk")
    if isinstance(encoder, Bm25):
        return _by_words(encoder, dataset, split, languages, units, progress, recalls, typed or Typed())
    vectors = encode_units(encoder, dataset, needed_units(units, recalls), progress)
    questions = encode_questions(encoder, dataset, split, languages, progress)
    selected = [question for language in languages for question in dataset.select(language, split)]
    ids, texts = [question.id for question in selected], [question.text for question in selected]
    if (cosine := collapsed(np.concatenate([*questions.values()]), ids, texts)) is not None:
        say(told(encoder.name, cosine))
    recall = {}
    if recalls:
        from .token_recall import token_recall

        recall = token_recall(questions, vectors["passage"], dataset, split, recalls)
    spoken = languages_of_head(questions, vectors["passage"], dataset) if "passage" in vectors else {}
    ranks = rank(questions, vectors, dataset, split, units)
    ranks_typed = {
        kind: rank(encoded, vectors, dataset, split, units)
        for kind, encoded in typed_questions(encoder, dataset, split, languages, typed or Typed(), progress).items()
    }
    return Evaluation(encoder.name, split, ranks, recall, spoken, ranks_typed)


def _by_words(model, dataset, split, languages, units, progress, recalls, typed):
    """The `Evaluation` of BM25, as `evaluate` measures an encoder."""
    scores = WordScores(dataset, model.words, needed_units(units, recalls), progress)
    texts = {language: [question.text for question in dataset.select(language, split)] for language in languages}

    def ranked(by_language):
        rows = {language: _gold(dataset, split, language) for language in by_language}
        places = {name: scores.ranks(by_language[name], gold, units, progress) for name, gold in rows.items()}
        return {unit: {language: of[unit] for language, of in places.items()} for unit in units}

    recall = {}
    if recalls:
        from .token_recall import recall_of

        def nearest(language, rows, deep):
            return scores.nearest([texts[language][row] for row in rows], deep)

        recall = recall_of(nearest, dataset, split, languages, recalls)
    ranks_typed = {kind: ranked(rows) for kind, rows in typed_texts(dataset, split, languages, typed).items()}
    return Evaluation(model.name, split, ranked(texts), recall, typed=ranks_typed)


def _gold(dataset, split, language):
    return np.array([question.passage for question in dataset.select(language, split)])


def typed_texts(
    dataset: Dataset, split: str, languages: Sequence[str], typed: Typed
) -> dict[str, dict[str, list[str]]]:
    """`{kind: {language: texts (q,)}}` of a split's questions as people type them, of the languages with the kind."""
    return {
        kind: {
            language: [
                as_typed(question.text, language, kind, typed.seed) for question in dataset.select(language, split)
            ]
            for language in languages
            if has_kind(language, kind)
        }
        for kind in typed.kinds
    }


def typed_questions(
    encoder: Encoder,
    dataset: Dataset,
    split: str,
    languages: Sequence[str],
    typed: Typed,
    progress: Progress | None = None,
) -> dict[str, dict[str, Floats]]:
    """`{kind: {language: float32 (q, d)}}` of a split's questions as people type them. Errors as `encode_questions`."""
    return {
        kind: {
            language: require_finite(encoder.encode(texts, "question", progress), encoder)
            for language, texts in by_language.items()
        }
        for kind, by_language in typed_texts(dataset, split, languages, typed).items()
    }


def typed_size(dataset: Dataset, split: str, languages: Sequence[str], kinds: Sequence[str]) -> int:
    """The number of questions that are encoded as typed."""
    counts = {language: len(dataset.select(language, split)) for language in languages}
    return sum(counts[language] for kind in kinds for language in languages if has_kind(language, kind))


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
        gold = _gold(dataset, split, language)
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
