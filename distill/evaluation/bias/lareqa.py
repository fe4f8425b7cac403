"""LAReQA: answers of many languages in one pool, and how much an encoder prefers some languages.

Roy et al. (2020), LAReQA: Language-agnostic answer retrieval from a multilingual pool.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...data.pool import NONE, Pool
from ...encoders.health import require_finite
from ...retrieval.metrics import question_scores
from .counting import Counts, count, count_all

TOP = 100


def average_precision(above, keep):
    """Equation 1 for each question: `(q,)` in [0, 1], ties counted against it.

    `above`, int `(q, r)`: wrong candidates that are not below a target; `keep`, bool `(q, r)`: the targets that are
    in the pool. The j-th best target stands at rank above + j, where the precision is j / (above + j).
    NaN where no target is kept.
    """
    ranks = target_ranks(above, keep)
    with np.errstate(invalid="ignore"):
        return (np.arange(1, ranks.shape[1] + 1) / ranks).sum(axis=1) / keep.sum(axis=1)


def target_ranks(above, keep):
    """float `(q, r)`: the ranks, from 1, of a question's targets, best first; inf where it has no more."""
    return np.sort(np.where(keep, above, np.inf), axis=1) + np.arange(1, above.shape[1] + 1)


@dataclass(frozen=True)
class Lareqa:
    """One encoder's ranking of a `Pool`: its `Counts`, and every analysis as a method."""

    pool: Pool
    counts: Counts

    @cached_property
    def _all(self):
        return self.counts.above.sum(axis=2)

    @cached_property
    def average_precisions(self):
        """float `(q,)`: Equation 1 of each question over the whole pool."""
        return average_precision(self._all, self.pool.targets != NONE)

    @cached_property
    def ranks(self):
        """float `(q, r)`: `target_ranks` over the whole pool."""
        return target_ranks(self._all, self.pool.targets != NONE)

    def scores(self, metric):
        """float `(q,)`: p@k and mrr@k of the best right sentence, ndcg@k (Järvelin & Kekäläinen, 2002) and map of all.

        nDCG divides by what the same number of targets give in the first places.
        """
        if metric == "map":
            return self.average_precisions
        gains = question_scores(self.ranks, metric)
        if not metric.startswith("ndcg"):
            return gains[:, 0]
        ideal = question_scores(np.arange(1, self.ranks.shape[1] + 1), metric)
        return gains.sum(axis=1) / np.cumsum(ideal)[np.sum(self.pool.targets != NONE, axis=1) - 1]

    def removed(self):
        """Table 3: mAP with the target of one language taken out of the pool: another's, and the question's own.

        Where a language has several targets all of them go.

        `rand` is the mean over every other language that has a target, which is what a random one gives on average;
        `delta` is (rand - same) / rand. Questions without a target in both kinds of language do not count.
        """
        own, others = self._without_each()
        usable = np.isfinite(own) & np.isfinite(others)
        rand, same = _mean(others[usable]), _mean(own[usable])
        return {"rand": rand, "same": same, "delta": (rand - same) / rand if rand else None}

    def _without_each(self):
        """`(q,)` each: average precision without the own language's target, and the mean without each other's."""
        of, asked, above = self.pool.target_language, self.pool.asked_in[:, None], self._all
        without = np.full((len(of), len(self.pool.languages)), np.nan)
        for number in range(len(self.pool.languages)):
            there = np.any(of == number, axis=1)
            without[there, number] = average_precision(above[there], ((of != NONE) & (of != number))[there])
        own = np.take_along_axis(without, asked, axis=1)[:, 0]
        np.put_along_axis(without, asked, np.nan, axis=1)
        counted = np.isfinite(without).sum(axis=1)
        return own, np.where(counted > 0, np.nansum(without, axis=1) / np.maximum(counted, 1), np.nan)

    def one_target(self):
        """Figure 4: `{question language: {answer language: mAP}}` with the targets of that language alone.

        Each target is ranked by itself, so that mAP is the mean reciprocal rank.
        """
        reciprocal, of = 1.0 / (1 + self._all), self.pool.target_language
        return self._matrix(
            lambda asked, answered: _mean(reciprocal[asked][of[asked] == answered]),
        )

    def monolingual(self):
        """Table 4: `{language: mAP}` with candidates of the question's language alone."""
        of, asked = self.pool.target_language, self.pool.asked_in
        own = np.take_along_axis(self.counts.above, asked[:, None, None], axis=2)[..., 0]
        return by_language(self.pool, average_precision(own, of == asked[:, None]))

    def share(self):
        """Figure 6: `{question language: {language: its share of the first places}}`; a row sums to 1.

        Table 7 of Sentri (Sorokin et al., 2022, section 5.1), too.
        """
        return self._matrix(lambda asked, answered: _mean(self.counts.share[asked, answered]))

    def first_share(self):
        """`share` of the first place alone."""
        return self._matrix(lambda asked, answered: _mean(self.counts.first[asked, answered]))

    def _matrix(self, value):
        pool = self.pool
        rows = [pool.asked_in == number for number in range(len(pool.languages))]
        return {
            language: {other: value(asked, number) for number, other in enumerate(pool.languages)}
            for language, asked in zip(pool.languages, rows, strict=True)
        }

    def table(self):
        """All of these as plain values, in [0, 1]."""
        precisions, share, first = self.average_precisions, self.share(), self.first_share()
        return {
            "map": _mean(precisions),
            "languages": by_language(self.pool, precisions),
            "p@1": by_language(self.pool, self.scores("p@1")),
            "removed": self.removed(),
            "one_target": self.one_target(),
            "monolingual": self.monolingual(),
            "share": share,
            "first_share": first,
            "usage": {"share": usage(share), "first_share": usage(first)},
        }


def by_language(pool, values):
    """`{question language: mean}` of one value a question; NaN does not count, None where there is none."""
    return {language: _mean(values[pool.asked_in == number]) for number, language in enumerate(pool.languages)}


def rank_pool(asked, given, pool, top=TOP):
    """A `Lareqa` of question vectors `(q, d)` and candidate vectors `(c, d)`, both at unit length."""
    return Lareqa(pool, count(asked, given, pool, top))


def mean_average_precision(asked, given, pool):
    """`{"map", "languages"}`, what `Lareqa.table` has of them, without what the other analyses need."""
    precisions = average_precision(count_all(asked, given, pool), pool.targets != NONE)
    return {"map": _mean(precisions), "languages": by_language(pool, precisions)}


def encode_pool(encoder, pool, progress=None):
    """(questions `(q, d)`, candidates `(c, d)`); an encoder that takes a context gets each sentence's paragraph.

    Raises `EncoderError` where a vector is no number.
    """
    asked = encoder.encode(pool.questions, "question", progress)
    extra = {"contexts": pool.contexts} if getattr(encoder, "takes_context", False) else {}
    given = encoder.encode(pool.sentences, "document", progress, **extra)
    return require_finite(asked, encoder), require_finite(given, encoder)


def _mean(values):
    values = values[np.isfinite(values)]
    return float(np.mean(values, dtype=np.float64)) if len(values) else None


def usage(share):
    """`{"own", "languages": {question language: {"own", "other", "other_share"}}}` of `Lareqa.share`'s rows.

    `own`, the self-usage, is the share of the question's own language, over all its mean over languages; `other` is the
    most used other language, the first of those that are used alike, None where there is none.
    """
    rows = {language: _row(language, of) for language, of in share.items()}
    return {"own": sum(row["own"] for row in rows.values()) / len(rows), "languages": rows}


def _row(language, of):
    others = {name: value for name, value in of.items() if name != language}
    most = max(others, key=others.__getitem__, default=None)
    return {"own": of[language], "other": most, "other_share": others.get(most)}
