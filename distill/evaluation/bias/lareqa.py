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
from .counting import Counted, Counts, count, count_all

TOP = 100
# By question language.
Means: TypeAlias = dict[str, float | None]
# By question language, then by answer language.
Matrix: TypeAlias = dict[str, Means]


@dataclass(frozen=True)
class OneRemoved:
    """mAP with one target taken out: a `rand`om other language's, the `same` language's, and (rand - same) / rand."""

    rand: float | None
    same: float | None
    delta: float | None


@dataclass(frozen=True)
class LanguageUsage:
    """The share of a question language itself among its first places, and of the `other` that is used most."""

    self_share: float | None
    other: str | None
    other_share: float | None


@dataclass(frozen=True)
class Usage:
    """Self-usage, the mean share of the question's language over question languages, and each one's `LanguageUsage`."""

    self_usage: float
    languages: dict[str, LanguageUsage]

    def as_dict(self) -> dict[str, Json]:
        """Plain values, as `metrics.json` keeps them."""
        rows: dict[str, Json] = {
            language: {"own": row.self_share, "other": row.other, "other_share": row.other_share}
            for language, row in self.languages.items()
        }
        return {"own": self.self_usage, "languages": rows}


@dataclass(frozen=True)
class MeanPrecision:
    """mAP over all questions, and by question language."""

    map: float | None
    languages: Means


@dataclass(frozen=True)
class LareqaFigures:
    """The analyses of a ranking, in [0, 1]; the methods of `Lareqa` say what each is."""

    precision: MeanPrecision
    p1: Means
    removed: OneRemoved
    one_target: Matrix
    monolingual: Means
    share: Matrix
    first_share: Matrix

    @property
    def usage(self) -> dict[str, Usage]:
        """`Usage` of the first places, "share", and of the first alone, "first_share"."""
        return {"share": usage(self.share), "first_share": usage(self.first_share)}

    def as_dict(self) -> dict[str, Json]:
        """Plain values, as `metrics.json` keeps them."""
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


def average_precision(above: Counted | Doubles, keep: Booleans) -> Doubles:
    """Return Equation 1 for each question, `(q,)` in [0, 1], ties counted against it.

    `above`, int `(q, r)`: wrong candidates that are not below a target; `keep`, bool `(q, r)`: the targets that are
    in the pool. The j-th best target stands at rank above + j, where the precision is j / (above + j).
    NaN where no target is kept.
    """
    ranks = target_ranks(above, keep)
    with np.errstate(invalid="ignore"):
        return (np.arange(1, ranks.shape[1] + 1) / ranks).sum(axis=1) / keep.sum(axis=1)


def target_ranks(above: Counted | Doubles, keep: Booleans) -> Doubles:
    """Return the ranks, from 1, of a question's targets, float `(q, r)`, best first; inf where it has no more."""
    return np.sort(np.where(keep, above, np.inf), axis=1) + np.arange(1, above.shape[1] + 1)


def target_scores(above: Counted | Doubles, keep: Booleans, metric: str) -> Doubles:
    """Return each question's score, float `(q,)`: p@k and mrr@k of its best target, ndcg@k and map of all.

    `above` and `keep` as of `average_precision`; inf above a target that is nowhere. nDCG (Järvelin & Kekäläinen, 2002)
    divides by what the same number of targets give in the first places.
    """
    if metric == "map":
        return average_precision(above, keep)
    gains = question_scores(target_ranks(above, keep), metric)
    if not metric.startswith("ndcg"):
        return gains[:, 0]
    ideal = question_scores(np.arange(1, above.shape[1] + 1), metric)
    return gains.sum(axis=1) / np.cumsum(ideal)[np.sum(keep, axis=1) - 1]


@dataclass(frozen=True)
class Lareqa:
    """One encoder's ranking of a `Pool`: its `Counts`, and every analysis as a method."""

    pool: Pool
    counts: Counts

    @cached_property
    def _all(self):
        return self.counts.above.sum(axis=2)

    @cached_property
    def average_precisions(self) -> Doubles:
        """Equation 1 of each question over the whole pool, float `(q,)`."""
        return average_precision(self._all, self.pool.targets != NONE)

    def scores(self, metric: str) -> Doubles:
        """Return each question's `target_scores` over the whole pool, float `(q,)`."""
        return target_scores(self._all, self.pool.targets != NONE, metric)

    def removed(self) -> OneRemoved:
        """Table 3: mAP with the target of one language taken out of the pool: another's, and the question's own.

        Where a language has several targets all of them go.

        `rand` is the mean over every other language that has a target, which is what a random one gives on average;
        `delta` is (rand - same) / rand. Questions without a target in both kinds of language do not count.
        """
        without, others = self._without_each()
        usable = np.isfinite(without) & np.isfinite(others)
        rand, same = _mean(others[usable]), _mean(without[usable])
        return OneRemoved(rand, same, (rand - same) / rand if rand else None)

    def _without_each(self):
        """`(q,)` each: average precision without the own language's target, and the mean without each other's."""
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
        """Figure 4: `{question language: {answer language: mAP}}` with the targets of that language alone.

        Each target is ranked by itself, so that mAP is the mean reciprocal rank.
        """
        reciprocal, of = 1.0 / (1 + self._all), self.pool.target_language
        return self._matrix(lambda rows, answered: _mean(reciprocal[rows][of[rows] == answered]))

    def monolingual(self) -> Means:
        """Table 4: `{language: mAP}` with candidates of the question's language alone."""
        of, language = self.pool.target_language, self.pool.asked_in
        above = np.take_along_axis(self.counts.above, language[:, None, None], axis=2)[..., 0]
        return by_language(self.pool, average_precision(above, of == language[:, None]))

    def share(self) -> Matrix:
        """Figure 6: `{question language: {language: its share of the first places}}`; a row sums to 1.

        Table 7 of Sentri (Sorokin et al., 2022, section 5.1), too.
        """
        return self._matrix(lambda rows, answered: _mean(self.counts.share[rows, answered]))

    def first_share(self) -> Matrix:
        """`share` of the first place alone."""
        return self._matrix(lambda rows, answered: _mean(self.counts.first[rows, answered]))

    def _matrix(self, value):
        pool = self.pool
        questions = [pool.asked_in == number for number in range(len(pool.languages))]
        return {
            language: {other: value(rows, number) for number, other in enumerate(pool.languages)}
            for language, rows in zip(pool.languages, questions, strict=True)
        }

    def figures(self) -> LareqaFigures:
        """All of these."""
        return LareqaFigures(
            precision=_mean_precision(self.pool, self.average_precisions),
            p1=by_language(self.pool, self.scores("p@1")),
            removed=self.removed(),
            one_target=self.one_target(),
            monolingual=self.monolingual(),
            share=self.share(),
            first_share=self.first_share(),
        )


def by_language(pool: Pool, values: Doubles) -> Means:
    """`{question language: mean}` of one value a question; NaN does not count, None where there is none."""
    return {language: _mean(values[pool.asked_in == number]) for number, language in enumerate(pool.languages)}


def rank_pool(questions: Floats, candidates: Floats, pool: Pool, top: int = TOP) -> Lareqa:
    """Return the ranking of question vectors `(q, d)` and candidate vectors `(c, d)`, both at unit length."""
    return Lareqa(pool, count(questions, candidates, pool, top))


def mean_average_precision(questions: Floats, candidates: Floats, pool: Pool) -> MeanPrecision:
    """Return mAP as `Lareqa.figures` has it, without the counts that the other analyses need."""
    return _mean_precision(pool, average_precision(count_all(questions, candidates, pool), pool.targets != NONE))


def _mean_precision(pool, precisions):
    return MeanPrecision(_mean(precisions), by_language(pool, precisions))


def encode_pool(encoder: Encoder, pool: Pool, progress: Progress | None = None) -> tuple[Floats, Floats]:
    """Return (questions `(q, d)`, candidates `(c, d)`); an encoder that takes a context gets each sentence's paragraph.

    Raises `EncoderError` where a vector is no number.
    """
    questions = encoder.encode(pool.questions, "question", progress)
    extra = {"contexts": pool.contexts} if getattr(encoder, "takes_context", False) else {}
    candidates = encoder.encode(pool.sentences, "document", progress, **extra)
    return require_finite(questions, encoder), require_finite(candidates, encoder)


def _mean(values):
    values = values[np.isfinite(values)]
    return float(np.mean(values, dtype=np.float64)) if len(values) else None


def usage(share: Mapping[str, Mapping[str, float | None]]) -> Usage:
    """Return the `Usage` of the rows of `Lareqa.share`.

    `own`, the self-usage, is the share of the question's own language, over all its mean over languages; `other` is the
    most used other language, the first of those that are used alike, None where there is none.
    """
    rows = {language: _row(language, of) for language, of in share.items()}
    return Usage(sum(row.self_share for row in rows.values()) / len(rows), rows)


def _row(language, of):
    others = {name: value for name, value in of.items() if name != language}
    most = max(others, key=others.__getitem__, default=None)
    return LanguageUsage(of[language], most, others.get(most))
