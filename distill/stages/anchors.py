"""The questions that stage 1 asks, and for each epoch the triplets that it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np

from ..data.dataset import Dataset, Question, normalise
from ..data.draws import drawn
from ..data.more_questions import Triplets
from ..retrieval.approximate import search_of
from ..settings.sections import TeacherSettings
from ..system.types import Floats, Integers
from ..training.batches import line_name, named
from .negatives import bm25_candidates, draw, false_negatives, maxp_candidates, online_negatives, pairs_of


class Anchors:
    """`questions` `(q,)` and the pool of `passages` `(p,)`, texts, that holds their positives and negatives.

    A question's `passage` is its gold one, an index into the pool; `document_of`, int `(p,)`, is ascending. `queries`
    are what BM25 asks, in the passages' `language`. `rows_of(epoch)` gives the rows of an epoch's questions, by
    default all.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        passages: list[str],
        document_of: Integers,
        settings: TeacherSettings,
        seed: int,
        queries: Sequence[str],
        language: str,
        rows_of: Callable[[int], Integers] | None = None,
    ):
        self.passages, self.document_of, self.settings, self.seed = passages, document_of, settings, seed
        self.queries, self.language = queries, language
        self.questions = [question.text for question in questions]
        self.names = named(questions)
        self.gold = np.array([question.passage for question in questions])
        self.forbidden = false_negatives(questions, document_of)
        self.rows_of = rows_of or (lambda epoch: np.arange(len(questions)))

    @property
    def texts(self) -> list[str]:
        """The questions, then the passages."""
        return self.questions + self.passages

    @cached_property
    def lexical(self) -> Integers:
        """BM25's candidates of each question."""
        return self._lexical(self.queries, self.forbidden)

    def triplets(self, epoch: int, vectors: Callable[[Integers], Floats]) -> tuple[Integers, Integers, Integers]:
        """Of the questions asked: their rows `(m,)`, positives `(m,)` and negatives `(m, n)` in the pool, -1 for none.

        The first `settings.bm25_epochs` take BM25's negatives and the gold passage. Then `vectors(rows)` of `texts`,
        the encoder's own, decide: about negatives, and with `settings.positives` "maxp" about positives too.
        """
        rows, seed = self.rows_of(epoch), self.seed + epoch
        if epoch <= self.settings.bm25_epochs:
            return rows, self.gold[rows], draw(self._candidates(rows), self.settings.negatives, seed)
        computed = vectors(np.concatenate([rows, len(self.questions) + np.arange(len(self.passages))]))
        return rows, *self._online(rows, computed[: len(rows)], computed[len(rows) :], seed)

    def _candidates(self, rows):
        if len(rows) == len(self.questions):
            return self.lexical[rows]
        # Of many pairs an epoch asks some.
        return self._lexical([self.queries[row] for row in rows], pairs_of(self.forbidden, rows))

    def _lexical(self, queries, forbidden):
        options = self.settings.negatives, self.language, self.settings.bm25_words
        return bm25_candidates(queries, self.passages, forbidden, *options)

    def _online(self, rows, questions, passages, seed):
        gold, forbidden = self.gold[rows], pairs_of(self.forbidden, rows)
        n, margin = self.settings.negatives, self.settings.margin
        if self.settings.positives == "maxp":
            positives, hardest = maxp_candidates(questions, passages, self.document_of, gold, forbidden, n, margin)
            return positives, draw(hardest, n, seed)
        search = search_of(self.settings.mining)
        return gold, online_negatives(questions, passages, gold, forbidden, n, margin, seed, search)


def own_anchors(dataset: Dataset, language: str, settings: TeacherSettings, seed: int) -> Anchors:
    """The data set's train questions in `language`, with its passages.

    BM25 compares words, so it asks in the documents' language where the parallel question is there.
    """
    questions = dataset.select(language, "train")
    parallel = dataset.questions.get(dataset.document_language, {})
    queries = [parallel.get(question.id, question).text for question in questions]
    pool = dataset.passage_texts, dataset.document_of
    return Anchors(questions, *pool, settings, seed, queries, dataset.document_language)


def more_anchors(
    sources: Sequence[Triplets], language: str, settings: TeacherSettings, seed: int, count: int
) -> Anchors:
    """The pairs of `[Triplets]`; their pool is all their passages, each text once and a document of its own.

    `count`, the number of the data set's questions, is how many pairs an epoch asks unless the settings say another.
    """
    pairs = [pair for source in sources for pair in zip(source.questions, source.passages, strict=True)]
    names = [line_name(source.name, row, text) for source in sources for row, text in enumerate(source.questions)]
    pool = {}
    for _, passage in pairs:
        pool.setdefault(normalise(passage), (len(pool), passage))
    questions = [
        Question(name, language, question, pool[normalise(passage)][0])
        for name, (question, passage) in zip(names, pairs, strict=True)
    ]
    passages, queries = [passage for _, passage in pool.values()], [question for question, _ in pairs]
    return Anchors(
        questions,
        passages,
        np.arange(len(passages)),
        settings,
        seed,
        queries,
        language,
        partial(_drawn, sources, settings.triplets_an_epoch, count, seed),
    )


def _drawn(sources, many, count, seed, epoch):
    """Rows of the pairs of all sources that an epoch asks: a source by its weight, all of it before one comes again."""
    sizes = [len(source.questions) for source in sources]
    many = min(count if many < 0 else many or sum(sizes), sum(sizes))
    if many == sum(sizes):
        return np.arange(many)
    weights = np.array([source.weight for source in sources])
    groups = np.repeat(np.arange(len(sources)), sizes)
    return drawn(groups, weights / weights.sum(), many, (epoch - 1) * many, seed)
