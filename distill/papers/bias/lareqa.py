"""LAReQA: answers of many languages in one pool, and how much an encoder prefers some languages.

Roy et al. (2020), LAReQA: Language-agnostic answer retrieval from a multilingual pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ...data.pool import NONE, Pool
from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...retrieval.metrics import question_scores
from ...system.types import Booleans, Doubles, Floats, Json, Progress
from .counting import CountArray, Counts, count_above, count_candidates

TOP = 100
# {question language: value}.
Means: TypeAlias = dict[str, float | None]
# {question language: {answer language: value}}.
Matrix: TypeAlias = dict[str, Means]


@dataclass(frozen=True)
class TargetRemoval:
    """mAP with one target taken out of the pool.

    Attributes:
        rand: mAP without the target of a random other language.
        same: mAP without the target of the question's own language.
        delta: (rand - same) / rand.
    """

    rand: float | None
    same: float | None
    delta: float | None


@dataclass(frozen=True)
class LanguageUsage:
    """The languages among the first places of a question language."""

    self_share: float | None
    other: str | None
    other_share: float | None


@dataclass(frozen=True)
class Usage:
    """The use of languages among the first places.

    Attributes:
        self_usage: Mean share of the question's language, over question languages.
        languages: `{question language: usage}`.
    """

    self_usage: float
    languages: dict[str, LanguageUsage]

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `metrics.json` stores them."""
        rows: dict[str, Json] = {
            language: {"own": row.self_share, "other": row.other, "other_share": row.other_share}
            for language, row in self.languages.items()
        }
        return {"own": self.self_usage, "languages": rows}


@dataclass(frozen=True)
class MeanPrecision:
    """Mean average precision over all questions, and by question language."""

    map: float | None
    languages: Means


@dataclass(frozen=True)
class LareqaFigures:
    """All analyses of a ranking, with values in [0, 1]; the methods of `LareqaRanking` explain each of them."""

    precision: MeanPrecision
    p1: Means
    removed: TargetRemoval
    one_target: Matrix
    monolingual: Means
    share: Matrix
    first_share: Matrix

    @property
    def usage(self) -> dict[str, Usage]:
        """Return the use of languages over the first places, "share", and over the first alone, "first_share"."""
        return {"share": measure_usage(self.share), "first_share": measure_usage(self.first_share)}

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `metrics.json` stores them."""
        return {
            **asdict(self.precision),
            "p@1": self.p1,
            "removed": asdict(self.removed),
            "one_target": self.one_target,
            "monolingual": self.monolingual,
            "share": self.share,
            "first_share": self.first_share,
            "usage": {name: part.as_dict() for name, part in self.usage.items()},
        }


def average_precision(above: CountArray | Doubles, keep: Booleans) -> Doubles:
    """Return the average precision of each question (Equation 1), with ties counted against it.

    The j-th best target has the rank above + j, at which the precision is j / (above + j). `above` is an integer array
    `(q, r)`, the number of wrong candidates that do not score below a target. `keep` is a boolean array `(q, r)`, true
    for the targets that are in the pool. Returns a float array `(q,)` in [0, 1]; NaN where no target is kept.
    """
    ranks = target_ranks(above, keep)
    with np.errstate(invalid="ignore"):
        return (np.arange(1, ranks.shape[1] + 1) / ranks).sum(axis=1) / keep.sum(axis=1)


def target_ranks(above: CountArray | Doubles, keep: Booleans) -> Doubles:
    """Return the ranks of each question's targets, best first.

    Returns a float array `(q, r)` of ranks from 1; inf where a question has no more targets.
    """
    return np.sort(np.where(keep, above, np.inf), axis=1) + np.arange(1, above.shape[1] + 1)


def target_scores(above: CountArray | Doubles, keep: Booleans, metric: str) -> Doubles:
    """Return the score of each question: a float array `(q,)`.

    p@k and mrr@k count the best target, ndcg@k and map count all of them. nDCG (Järvelin & Kekäläinen, 2002) is divided
    by the score of the same number of targets in the first places. `above` is an array `(q, r)`, the number of wrong
    candidates that do not score below a target; inf for a target without a rank. `metric` is p@k, mrr@k, ndcg@k or map.
    """
    if metric == "map":
        return average_precision(above, keep)
    gains = question_scores(target_ranks(above, keep), metric)
    if not metric.startswith("ndcg"):
        return gains[:, 0]
    ideal = question_scores(np.arange(1, above.shape[1] + 1), metric)
    return gains.sum(axis=1) / np.cumsum(ideal)[np.sum(keep, axis=1) - 1]


@dataclass(frozen=True)
class LareqaRanking:
    """One encoder's ranking of a pool, with every analysis as a method."""

    pool: Pool
    counts: Counts

    @cached_property
    def _all(self):
        return self.counts.above.sum(axis=2)

    @cached_property
    def average_precisions(self) -> Doubles:
        """Return the average precision (Equation 1) of each question over the whole pool, as a float array `(q,)`."""
        return average_precision(self._all, self.pool.targets != NONE)

    def scores(self, metric: str) -> Doubles:
        """Return each question's score of a metric over the whole pool, as a float array `(q,)`."""
        return target_scores(self._all, self.pool.targets != NONE, metric)

    def remove_targets(self) -> TargetRemoval:
        """Return mAP with the target of one language taken out of the pool (Table 3).

        The target is either that of the question's own language or that of another. If a language has several targets,
        all of them are taken out. `rand` is the mean over every other language that has a target, which is the
        expectation of a random choice. `delta` is (rand - same) / rand. Questions without a target in both kinds of
        language do not count.
        """
        without, others = self._without_each()
        usable = np.isfinite(without) & np.isfinite(others)
        rand, same = _mean(others[usable]), _mean(without[usable])
        return TargetRemoval(rand, same, (rand - same) / rand if rand else None)

    def _without_each(self):
        """Return average precision without the own language's target, and the mean without another, `(q,)` each."""
        of, language, above = self.pool.target_language, self.pool.asked_in[:, None], self._all
        without = np.full((len(of), len(self.pool.languages)), np.nan)
        for number in range(len(self.pool.languages)):
            there = np.any(of == number, axis=1)
            without[there, number] = average_precision(above[there], ((of != NONE) & (of != number))[there])
        same = np.take_along_axis(without, language, axis=1)[:, 0]
        np.put_along_axis(without, language, np.nan, axis=1)
        counted = np.isfinite(without).sum(axis=1)
        return same, np.where(counted > 0, np.nansum(without, axis=1) / np.maximum(counted, 1), np.nan)

    def one_target(self) -> Matrix:
        """Return mAP by question language and answer language, with targets of that answer language alone (Figure 4).

        Each target is ranked by itself, so that mAP is the mean reciprocal rank.
        """
        reciprocal, of = 1.0 / (1 + self._all), self.pool.target_language
        return self._matrix(lambda rows, answered: _mean(reciprocal[rows][of[rows] == answered]))

    def monolingual(self) -> Means:
        """Return `{language: mAP}` with candidates of the question's language alone (Table 4)."""
        return mean_by_language(self.pool, self.monolingual_precisions())

    def monolingual_precisions(self) -> Doubles:
        """Return the average precision of each question among candidates of its language, as a float array `(q,)`."""
        of, language = self.pool.target_language, self.pool.asked_in
        above = np.take_along_axis(self.counts.above, language[:, None, None], axis=2)[..., 0]
        return average_precision(above, of == language[:, None])

    def share(self) -> Matrix:
        """Return `{question language: {language: its share of the first places}}`, where each row sums to 1 (Figure 6).

        Table 7 of Sentri (Sorokin et al., 2022, section 5.1) shows the same.
        """
        return self._matrix(lambda rows, answered: _mean(self.counts.share[rows, answered]))

    def first_share(self) -> Matrix:
        """Return the shares of the first place alone, as `share` does for more places."""
        return self._matrix(lambda rows, answered: _mean(self.counts.first[rows, answered]))

    def _matrix(self, value):
        pool = self.pool
        questions = [pool.asked_in == number for number in range(len(pool.languages))]
        return {
            language: {other: value(rows, number) for number, other in enumerate(pool.languages)}
            for language, rows in zip(pool.languages, questions, strict=True)
        }

    def figures(self) -> LareqaFigures:
        return LareqaFigures(
            precision=_mean_precision(self.pool, self.average_precisions),
            p1=mean_by_language(self.pool, self.scores("p@1")),
            removed=self.remove_targets(),
            one_target=self.one_target(),
            monolingual=self.monolingual(),
            share=self.share(),
            first_share=self.first_share(),
        )


def mean_by_language(pool: Pool, values: Doubles) -> Means:
    """Return `{question language: mean}` of a value per question, `(q,)`; NaN does not count, and None has no value."""
    return {language: _mean(values[pool.asked_in == number]) for number, language in enumerate(pool.languages)}


def rank_pool(questions: Floats, candidates: Floats, pool: Pool, top: int = TOP) -> LareqaRanking:
    """Rank the candidates of a pool for each question.

    Args:
        questions: Unit rows `(q, d)`.
        candidates: Unit rows `(c, d)`.
        top: Number of first places that shares are computed over.
    """
    return LareqaRanking(pool, count_candidates(questions, candidates, pool, top))


def mean_average_precision(questions: Floats, candidates: Floats, pool: Pool) -> MeanPrecision:
    """Return mAP without the counts that the other analyses need, equal to that of `LareqaRanking.figures`."""
    return _mean_precision(pool, precisions_of(questions, candidates, pool))


def precisions_of(questions: Floats, candidates: Floats, pool: Pool) -> Doubles:
    """Return the average precision of each question, as a float array `(q,)`."""
    return average_precision(count_above(questions, candidates, pool), pool.targets != NONE)


def _mean_precision(pool, precisions):
    return MeanPrecision(_mean(precisions), mean_by_language(pool, precisions))


def encode_pool(encoder: Encoder, pool: Pool, progress: Progress | None = None) -> tuple[Floats, Floats]:
    """Encode the questions and candidates of a pool.

    An encoder that takes a context gets the paragraph of each sentence. Returns questions, float32 `(q, d)`, and
    candidates, float32 `(c, d)`. Raises `EncoderError` if vectors hold NaN or infinity.
    """
    questions = encoder.encode(pool.questions, "question", progress)
    extra = {"contexts": pool.contexts} if getattr(encoder, "takes_context", False) else {}
    candidates = encoder.encode(pool.sentences, "document", progress, **extra)
    return require_finite(questions, encoder), require_finite(candidates, encoder)


def _mean(values):
    values = values[np.isfinite(values)]
    return float(np.mean(values, dtype=np.float64)) if len(values) else None


def measure_usage(share: Mapping[str, Mapping[str, float | None]]) -> Usage:
    """Return the use of languages from the shares of `LareqaRanking.share`.

    Self-usage is the share of the question's own language, averaged over languages. The other language that is used
    most is the first of those with equal shares, and None if there is none.
    """
    rows = {language: _row(language, of) for language, of in share.items()}
    return Usage(sum(row.self_share for row in rows.values()) / len(rows), rows)


def _row(language, of):
    others = {name: value for name, value in of.items() if name != language}
    most = max(others, key=others.__getitem__, default=None)
    return LanguageUsage(of[language], most, others.get(most))
