"""Evaluation of any encoder on a data set: from texts to vectors, ranks and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder, passage_weight_of
from ..encoders.health import collapse_warning, find_collapse, require_finite
from ..retrieval.exact import top_k
from ..retrieval.metrics import SUMMARY, summarise_ranks
from ..retrieval.units import ranks_of
from ..settings.choices import UNITS, list_text_kinds
from ..system.extras import require_training
from ..system.progress import say
from ..system.types import Floats, Integers, Progress
from ..vocabulary.typed.kinds import add_noise as as_typed
from ..vocabulary.typed.kinds import has_kind
from .bm25 import Bm25, Bm25Scorer

if TYPE_CHECKING:
    from .token_recall import Recalls

# {unit: {language: ranks}}: the rank of each question's answer, from 1, as an integer array (q,).
Ranks: TypeAlias = dict[str, dict[str, Integers]]
# {unit: {language: {metric: value}}}.
Figures: TypeAlias = dict[str, dict[str, dict[str, float]]]


# Number of nearest passages per question that are looked at.
HEAD = 10


@dataclass(frozen=True)
class QueryNoise:
    """Kinds of noise in which questions are measured too. `kinds` are names in `choices.TYPED`."""

    kinds: Sequence[str] = ()
    seed: int = 0


@dataclass(frozen=True)
class Evaluation:
    """The results of one encoder on one split.

    `ranks`, integers from 1, are by unit and language, as those of noisy questions by kind are. `spoken` are the
    languages of the nearest passages by question language.
    """

    encoder: str
    split: str
    ranks: Ranks
    recall: dict[str, Recalls] = field(default_factory=dict)
    spoken: dict[str, dict[str, float]] = field(default_factory=dict)
    typed: dict[str, Ranks] = field(default_factory=dict)

    def table(self, metrics: Sequence[str] = SUMMARY) -> Figures:
        """Return the metrics of each language, by unit."""
        return _table(self.ranks, metrics)

    def noisy_table(self, metrics: Sequence[str] = SUMMARY) -> dict[str, Figures]:
        """Return the metrics of noisy questions: `{kind: {unit: {language: metrics}}}`."""
        return {kind: _table(ranks, metrics) for kind, ranks in self.typed.items()}

    def recalls(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return recall by tokens as `{metric: {language: {"recall", "questions"}}}`."""
        return {
            metric: {
                language: {"recall": float(np.mean(hits)), "questions": len(hits)}
                for language, (_, hits) in by_language.items()
            }
            for metric, by_language in self.recall.items()
        }

    def mean(self, unit: str, languages: Sequence[str], metric: str = "p@1") -> float:
        """Return the mean of a metric, such as "mrr@10", over languages, each with the same weight, in [0, 1]."""
        return float(np.mean([summarise_ranks(self.ranks[unit][language])[metric] for language in languages]))


def _table(ranks, metrics):
    return {
        unit: {language: summarise_ranks(each, metrics) for language, each in by_language.items()}
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
    typed: QueryNoise | None = None,
) -> Evaluation:
    """Encode the documents and the questions of a split, and rank.

    A warning is printed if the encoder has collapsed, so that all its vectors are alike.

    Args:
        encoder: The encoder, or BM25.
        dataset: The data set.
        split: Name of the split.
        languages: The languages to ask in.
        units: Names of the units to rank.
        progress: Called with the number of texts that were encoded.
        recalls: Metrics of recall by tokens, such as "r@2kt"; the passages are encoded for them too.
        typed: Kinds of noise to measure the questions in too.

    Returns:
        The ranks of all units and languages.

    Raises:
        EncoderError: If vectors hold NaN or infinity.
        InputError: If `recalls` are given and NLTK is not installed.
        DataError: If `recalls` are given and a language has no answer to look for.

    Example:
        >>> import distill
        >>> encoder, sample = distill.load_encoder("multi12-static"), distill.load_dataset("sample")
        >>> evaluation = distill.evaluate(encoder, sample, "dev", ["de", "en"], units=["document"])
        >>> list(evaluation.table()["document"])
        ['de', 'en']
        >>> 0.4 < evaluation.mean("document", ["de", "en"]) < 1
        True
    """
    if recalls:
        _require_recall(dataset, split, languages, recalls)
    if isinstance(encoder, Bm25):
        return _by_words(encoder, dataset, split, languages, units, progress, recalls, typed or QueryNoise())
    vectors = encode_units(encoder, dataset, units_to_encode(units, recalls), progress)
    questions = encode_questions(encoder, dataset, split, languages, progress)
    selected = [question for language in languages for question in dataset.select(language, split)]
    ids, texts = [question.id for question in selected], [question.text for question in selected]
    if (cosine := find_collapse(np.concatenate([*questions.values()]), ids, texts)) is not None:
        say(collapse_warning(encoder.name, cosine))
    recall = {}
    if recalls:
        from .token_recall import token_recall

        recall = token_recall(questions, vectors["passage"], dataset, split, recalls)
    spoken = languages_of_head(questions, vectors["passage"], dataset) if "passage" in vectors else {}
    weight = passage_weight_of(encoder)
    ranks = rank_questions(questions, vectors, dataset, split, units, weight)
    ranks_typed = {
        kind: rank_questions(encoded, vectors, dataset, split, units, weight)
        for kind, encoded in encode_noisy_questions(
            encoder, dataset, split, languages, typed or QueryNoise(), progress
        ).items()
    }
    return Evaluation(encoder.name, split, ranks, recall, spoken, ranks_typed)


def _require_recall(dataset, split, languages, recalls):
    """Raise `InputError` without NLTK, or `DataError` for a language without answers, before texts are encoded."""
    require_training("nltk")
    from .token_recall import list_golds

    list_golds(dataset, split, languages, recalls)


def _by_words(model, dataset, split, languages, units, progress, recalls, typed):
    """Return the evaluation of BM25, in the form in which `evaluate` measures an encoder."""
    scores = Bm25Scorer(dataset, model.words, units_to_encode(units, recalls), progress)
    texts = {language: [question.text for question in dataset.select(language, split)] for language in languages}

    def rank_texts(by_language):
        rows = {language: _gold(dataset, split, language) for language in by_language}
        places = {name: scores.ranks(by_language[name], gold, units, progress) for name, gold in rows.items()}
        return {unit: {language: of[unit] for language, of in places.items()} for unit in units}

    recall = {}
    if recalls:
        from .token_recall import measure_recall

        def nearest(language, rows, deep):
            return scores.nearest_passages([texts[language][row] for row in rows], deep)

        recall = measure_recall(nearest, dataset, split, languages, recalls)
    ranks_typed = {kind: rank_texts(rows) for kind, rows in noisy_texts(dataset, split, languages, typed).items()}
    return Evaluation(model.name, split, rank_texts(texts), recall, typed=ranks_typed)


def _gold(dataset, split, language):
    return np.array([question.passage for question in dataset.select(language, split)])


def noisy_texts(
    dataset: Dataset, split: str, languages: Sequence[str], typed: QueryNoise
) -> dict[str, dict[str, list[str]]]:
    """Return the questions of a split with noise, by kind, in the languages that have the kind."""
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


def encode_noisy_questions(
    encoder: Encoder,
    dataset: Dataset,
    split: str,
    languages: Sequence[str],
    typed: QueryNoise,
    progress: Progress | None = None,
) -> dict[str, dict[str, Floats]]:
    """Encode the questions of a split with noise. Returns `{kind: {language: vectors}}`, float32 arrays `(q, d)`."""
    return {
        kind: {
            language: require_finite(encoder.encode(texts, "question", progress), encoder)
            for language, texts in by_language.items()
        }
        for kind, by_language in noisy_texts(dataset, split, languages, typed).items()
    }


def count_noisy_questions(dataset: Dataset, split: str, languages: Sequence[str], kinds: Sequence[str]) -> int:
    """Return the number of noisy questions that are encoded."""
    counts = {language: len(dataset.select(language, split)) for language in languages}
    return sum(counts[language] for kind in kinds for language in languages if has_kind(language, kind))


def units_to_encode(units: Sequence[str], recalls: Sequence[str]) -> tuple[str, ...]:
    """Return the units to encode; recall by tokens needs the passages."""
    return (*units, "passage") if recalls else tuple(units)


def encode_questions(
    encoder: Encoder, dataset: Dataset, split: str, languages: Sequence[str], progress: Progress | None = None
) -> dict[str, Floats]:
    """Encode the questions of a split to float32 `(q, d)` by language; `EncoderError` if one holds NaN or infinity."""
    texts = {language: [question.text for question in dataset.select(language, split)] for language in languages}
    return {
        language: require_finite(encoder.encode(questions, "question", progress), encoder)
        for language, questions in texts.items()
    }


def encode_units(
    encoder: Encoder, dataset: Dataset, units: Sequence[str] = UNITS, progress: Progress | None = None
) -> dict[str, Floats]:
    """Encode the kinds of text that units are scored by; `EncoderError` if a vector holds NaN or infinity."""
    return {
        kind: require_finite(encoder.encode(dataset.texts(kind), "document", progress), encoder)
        for kind in list_text_kinds(units)
    }


def rank_questions(
    questions: Mapping[str, Floats],
    vectors: Mapping[str, Floats],
    dataset: Dataset,
    split: str,
    units: Sequence[str] = UNITS,
    weight: float = 1.0,
) -> Ranks:
    """Return the rank of each question's answer: `{unit: {language: ranks}}`, integer arrays `(q,)`.

    `weight` is that of a passage's own vector beside its best sentence, where a unit adds both.
    """
    ranks: Ranks = {unit: {} for unit in units}
    whole_of = dataset.whole_of(tuple(vectors))
    for language, encoded in questions.items():
        gold = _gold(dataset, split, language)
        for unit in units:
            ranks[unit][language] = ranks_of(unit, encoded, vectors, gold, whole_of, dataset.first_of, weight)
    return ranks


def count_texts(dataset: Dataset, splits: Sequence[str], languages: Sequence[str], units: Sequence[str] = UNITS) -> int:
    """Return the number of texts that an evaluation encodes, for a progress bar."""
    searched = [len(dataset.texts(kind)) for kind in list_text_kinds(units)]
    questions = [len(dataset.select(language, split)) for split in splits for language in languages]
    return sum(searched) + sum(questions)


def languages_of_head(
    questions: Mapping[str, Floats], passages: Floats, dataset: Dataset, k: int = HEAD
) -> dict[str, dict[str, float]]:
    """Return the mean share of each passage language among the passages nearest to a question, by its language.

    There are none if all passages are in one language.
    """
    spoken = np.array(dataset.passage_languages)
    languages = list(dict.fromkeys(dataset.passage_languages))
    if len(languages) < 2:
        return {}
    heads = {name: spoken[top_k(rows, passages, min(k, len(passages)))[0]] for name, rows in questions.items()}
    return {name: {one: float(np.mean(head == one)) for one in languages} for name, head in heads.items()}
