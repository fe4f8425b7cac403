"""The anchors of stage 1, and the triplets that each epoch makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from ...data.dataset import Dataset
from ...data.more_questions import (
    Collection,
    Triplets,
    draw_epoch,
    make_collection,
    make_document_collection,
    make_own_collection,
)
from ...errors import DataError
from ...settings.sections import TeacherSettings
from ...system.text import number_copies
from ...system.types import Floats, Integers, Role
from ..batches import name_questions
from .negatives import (
    draw_negatives,
    find_bm25_candidates,
    find_false_negatives,
    mine_maxp_candidates,
    mine_online_negatives,
    mine_quota_negatives,
    select_pairs,
)


class Anchors:
    """The questions `(q,)` of a collection and its pool of passages `(p,)`, from which positives and negatives come.

    Args:
        queries: The texts that BM25 searches for, in the passages' languages.
        rows_of: Returns the rows of an epoch's questions; by default all.
        epochs: The epochs, from 1, that use these anchors; by default all.
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
        self.names = name_questions(questions)
        self.gold = np.array([question.passage for question in questions])
        self.is_sentence = np.isin(np.arange(len(self.passages)), np.concatenate([rows[1:] for rows in self.positives]))
        self.forbidden = find_false_negatives(questions, self.document_of, number_copies(self.passages))
        self.rows_of = rows_of or (lambda epoch: np.arange(len(questions)))
        self.epochs = epochs

    def ask_in(self, epoch: int) -> bool:
        """Return True if the epoch makes triplets of these questions."""
        return self.epochs is None or epoch in self.epochs

    @property
    def texts(self) -> list[str]:
        """The questions, then the passages."""
        return self.questions + self.passages

    @property
    def by_role(self) -> list[tuple[list[str], Role]]:
        """The `texts`, grouped by role."""
        return [(self.questions, "question"), (self.passages, "document")]

    @cached_property
    def lexical(self) -> Integers:
        """BM25's candidates of each question."""
        return self._lexical(self.queries, self.forbidden)

    def triplets(self, epoch: int, vectors: Callable[[Integers], Floats]) -> tuple[Integers, Integers, Integers]:
        """Make the triplets of an epoch.

        The first `settings.bm25_epochs` take BM25's negatives and the gold passage, or its sentence with the answer.
        Later epochs choose negatives by the encoder's own vectors, and with `settings.positives` "maxp" positives too.
        With "every-passage" a question has a triplet for each passage of its document, as in the code of CL-ReLKT, and
        for its own sentence.

        `vectors` returns the encoder's vectors of rows of `texts`. Returns the rows of the questions `(m,)`, of their
        positives `(m,)` and of their negatives `(m, n)` in the pool; -1 stands for a missing negative.
        """
        rows, seed = self.rows_of(epoch), self.seed + epoch
        places, gold = self._positives(rows, epoch)
        if epoch <= self.settings.bm25_epochs:
            best = self.settings.bm25_negatives
            candidates = self._candidates(rows)[places, : best or None]
            return rows[places], gold, draw_negatives(candidates, best or self.settings.negatives, seed)
        computed = vectors(np.concatenate([rows, len(self.questions) + np.arange(len(self.passages))]))
        questions, passages = np.split(computed, [len(rows)])
        return rows[places], *self._online(rows[places], gold, questions[places], passages, seed)

    def _gold(self, rows, epoch):
        """Draw one of each question's positives, anew in each epoch."""
        draws = np.random.default_rng((self.seed, 7, epoch)).random(len(self.positives))
        return np.array([self.positives[row][int(draws[row] * len(self.positives[row]))] for row in rows])

    def _positives(self, rows, epoch):
        """Return the places in `rows` of the triplets' questions, and their positives."""
        if self.settings.positives != "every-passage":
            return np.arange(len(rows)), self._gold(rows, epoch)
        documents = self.document_of[self.gold[rows]]
        first, last = (np.searchsorted(self.document_of, documents, side) for side in ("left", "right"))
        every = [np.arange(*ends) for ends in zip(first, last, strict=True)]
        # A sentence in the pool answers one question, and is none of the passages.
        positives = [
            of[~self.is_sentence[of] | np.isin(of, self.positives[row])] for row, of in zip(rows, every, strict=True)
        ]
        return np.repeat(np.arange(len(rows)), [len(of) for of in positives]), np.concatenate(positives)

    def _candidates(self, rows):
        if len(rows) == len(self.questions):
            return self.lexical[rows]
        # Of many pairs an epoch asks some.
        return self._lexical([self.queries[row] for row in rows], select_pairs(self.forbidden, rows))

    def _lexical(self, queries, forbidden):
        n = self.settings.bm25_negatives or self.settings.negatives
        options = n, self.languages, self.settings.bm25_words
        return find_bm25_candidates(queries, self.passages, forbidden, *options)

    def _online(self, rows, gold, questions, passages, seed):
        forbidden = select_pairs(self.forbidden, rows)
        n, margin = self.settings.negatives, self.settings.margin
        if self.settings.positives == "maxp":
            positives, hardest = mine_maxp_candidates(questions, passages, self.document_of, gold, forbidden, n, margin)
            return positives, draw_negatives(hardest, n, seed)
        if (hard := self.settings.hard_quota) >= 0:
            return gold, mine_quota_negatives(questions, passages, gold, forbidden, (hard, n - hard), margin)
        return gold, mine_online_negatives(questions, passages, gold, forbidden, n, margin, seed)


def own_anchors(
    dataset: Dataset, language: str, settings: TeacherSettings, seed: int, epochs: range | None = None
) -> Anchors:
    """Make anchors of the data set's train questions, with its passages or documents as the pool.

    BM25 compares words, so it searches in the language of the passage if the parallel question is there. `language` is
    the teacher's language, whose questions are used unless the settings ask for all or for those of the others.
    """
    others = [one for one in dataset.languages if one != language]
    languages = {"own": [language], "all": dataset.languages, "others": others}[settings.questions]
    questions = [question for one in languages for question in dataset.select(one, "train")]
    if not questions:
        where = " ".join(languages) or f"another language than {language}"
        raise DataError(f"{dataset.name}: no train questions in {where}, for teacher.questions={settings.questions}")
    spoken = [dataset.passage_languages[question.passage] for question in questions]
    parallel = [dataset.questions.get(language, {}) for language in spoken]
    queries = [of.get(question.id, question).text for of, question in zip(parallel, questions, strict=True)]
    if settings.train_unit == "document":
        collection = make_document_collection(dataset, questions)
    else:
        collection = make_own_collection(dataset, questions, settings.answer_sentences)
    return Anchors(collection, settings, seed, queries, epochs=epochs)


def anchors_by_epoch(dataset: Dataset, language: str, settings: TeacherSettings, seed: int) -> list[Anchors]:
    """Make the anchors of every epoch.

    With `passage-then-document`, BM25's epochs use passages and the others whole documents, as CL-ReLKT's code does.
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
    """Make anchors of other collections. Their pool is all their passages, each of which is a document of its own.

    `count` is the number of pairs per epoch, unless the settings name another.
    """
    collection = make_collection(sources, language, settings.answer_sentences)
    queries = [question.text for question in collection.questions]
    rows_of = partial(draw_epoch, sources, settings.triplets_an_epoch, count, seed)
    return Anchors(collection, settings, seed, queries, rows_of)
