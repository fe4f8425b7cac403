"""The questions that stage 1 asks, and for each epoch the triplets that it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from ..data.dataset import Dataset
from ..data.more_questions import (
    Collection,
    Triplets,
    collection_of,
    document_collection,
    epoch_rows,
    own_collection,
)
from ..settings.sections import TeacherSettings
from ..system.types import Floats, Integers, Role
from ..training.batches import named
from .negatives import (
    bm25_candidates,
    draw,
    false_negatives,
    maxp_candidates,
    online_negatives,
    pairs_of,
    quota_negatives,
)


class Anchors:
    """The questions `(q,)` of a `Collection` and its pool of passages `(p,)`, which holds positives and negatives.

    `queries` are what BM25 asks, in the passages' languages. `rows_of(epoch)` gives the rows of an epoch's questions,
    by default all; they ask in `epochs` alone, from 1, by default in each.
    """

    def __init__(
        self,
        collection: Collection,
        settings: TeacherSettings,
        seed: int,
        queries: Sequence[str],
        rows_of: Callable[[int], Integers] | None = None,
        epochs: range | None = None,
    ):
        questions = collection.questions
        self.passages, self.document_of = list(collection.passages), collection.document_of
        self.positives, self.settings, self.seed = collection.positives, settings, seed
        self.queries, self.languages = queries, collection.languages
        self.questions = [question.text for question in questions]
        self.names = named(questions)
        self.gold = np.array([question.passage for question in questions])
        self.forbidden = false_negatives(questions, self.document_of)
        self.rows_of = rows_of or (lambda epoch: np.arange(len(questions)))
        self.epochs = epochs

    def ask_in(self, epoch: int) -> bool:
        """True of an epoch that makes triplets of these questions."""
        return self.epochs is None or epoch in self.epochs

    @property
    def texts(self) -> list[str]:
        """The questions, then the passages."""
        return self.questions + self.passages

    @property
    def by_role(self) -> list[tuple[list[str], Role]]:
        """The `texts`, those of each role apart."""
        return [(self.questions, "question"), (self.passages, "document")]

    @cached_property
    def lexical(self) -> Integers:
        """BM25's candidates of each question."""
        return self._lexical(self.queries, self.forbidden)

    def triplets(self, epoch: int, vectors: Callable[[Integers], Floats]) -> tuple[Integers, Integers, Integers]:
        """Of the questions asked: their rows `(m,)`, positives `(m,)` and negatives `(m, n)` in the pool, -1 for none.

        The first `settings.bm25_epochs` take BM25's negatives and the gold passage, or its sentence that holds the
        answer. Then `vectors(rows)` of `texts`, the encoder's own, decide: about negatives, and with
        `settings.positives` "maxp" about positives too.
        """
        rows, seed = self.rows_of(epoch), self.seed + epoch
        gold = self._gold(rows, epoch)
        if epoch <= self.settings.bm25_epochs:
            return rows, gold, draw(self._candidates(rows), self.settings.negatives, seed)
        computed = vectors(np.concatenate([rows, len(self.questions) + np.arange(len(self.passages))]))
        return rows, *self._online(rows, gold, computed, seed)

    def _gold(self, rows, epoch):
        """One of each question's positives, drawn anew each epoch where it has several."""
        draws = np.random.default_rng((self.seed, 7, epoch)).random(len(self.positives))
        return np.array([self.positives[row][int(draws[row] * len(self.positives[row]))] for row in rows])

    def _candidates(self, rows):
        if len(rows) == len(self.questions):
            return self.lexical[rows]
        # Of many pairs an epoch asks some.
        return self._lexical([self.queries[row] for row in rows], pairs_of(self.forbidden, rows))

    def _lexical(self, queries, forbidden):
        options = self.settings.negatives, self.languages, self.settings.bm25_words
        return bm25_candidates(queries, self.passages, forbidden, *options)

    def _online(self, rows, gold, computed, seed):
        questions, passages = computed[: len(rows)], computed[len(rows) :]
        forbidden = pairs_of(self.forbidden, rows)
        n, margin = self.settings.negatives, self.settings.margin
        if self.settings.positives == "maxp":
            positives, hardest = maxp_candidates(questions, passages, self.document_of, gold, forbidden, n, margin)
            return positives, draw(hardest, n, seed)
        if (hard := self.settings.hard_quota) >= 0:
            return gold, quota_negatives(questions, passages, gold, forbidden, (hard, n - hard), margin)
        return gold, online_negatives(questions, passages, gold, forbidden, n, margin, seed)


def own_anchors(
    dataset: Dataset, language: str, settings: TeacherSettings, seed: int, epochs: range | None = None
) -> Anchors:
    """The data set's train questions in `language`, or by the settings in all, with its passages or documents.

    BM25 compares words, so it asks in the language of the passage where the parallel question is there.
    """
    languages = dataset.languages if settings.questions == "all" else (language,)
    questions = [question for one in languages for question in dataset.select(one, "train")]
    spoken = [dataset.passage_languages[question.passage] for question in questions]
    parallel = [dataset.questions.get(language, {}) for language in spoken]
    queries = [of.get(question.id, question).text for of, question in zip(parallel, questions, strict=True)]
    if settings.train_unit == "document":
        collection = document_collection(dataset, questions)
    else:
        collection = own_collection(dataset, questions, settings.answer_sentences)
    return Anchors(collection, settings, seed, queries, epochs=epochs)


def anchors_by_epoch(dataset: Dataset, language: str, settings: TeacherSettings, seed: int) -> list[Anchors]:
    """`own_anchors`; with `passage-then-document` those of passages for BM25's epochs and of documents for the others.

    So does CL-ReLKT's code, whose first stage takes paragraphs and whose second whole documents.
    """
    if settings.train_unit != "passage-then-document":
        return [own_anchors(dataset, language, settings, seed)]
    first = 1 + settings.bm25_epochs
    epochs = {"passage": range(1, first), "document": range(first, first + settings.online_epochs)}
    units = {unit: replace(settings, train_unit=unit) for unit in epochs}
    return [own_anchors(dataset, language, units[unit], seed, epochs[unit]) for unit in epochs]


def more_anchors(
    sources: Sequence[Triplets], language: str, settings: TeacherSettings, seed: int, count: int
) -> Anchors:
    """The pairs of `[Triplets]`; their pool is all their passages, each text once and a document of its own.

    `count`, the number of the data set's questions, is how many pairs an epoch asks unless the settings say another.
    """
    collection = collection_of(sources, language, settings.answer_sentences)
    queries = [question.text for question in collection.questions]
    rows_of = partial(epoch_rows, sources, settings.triplets_an_epoch, count, seed)
    return Anchors(collection, settings, seed, queries, rows_of)
