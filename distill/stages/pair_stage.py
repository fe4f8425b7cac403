"""Stage 1 by in-batch softmax over pairs of many languages. LAReQA, section 4; Sentri, sections 3.1 and 3.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from ..data.dataset import Dataset
from ..data.more_questions import Triplets
from ..data.pairs import NONE, Pairs, with_lines
from ..data.parallel import Parallel, groups_of, shares, without_pivots
from ..encoders.by_role import DualEncoder
from ..encoders.encoder import KerasEncoder
from ..settings.sections import PairSettings, TeacherSettings
from ..system.progress import say
from ..system.types import Floats, Integers
from ..training.batches import Maker, StepInput, named
from ..training.dev_score import DevScore
from ..training.devices import shared_by
from ..training.loop import fit
from ..training.sampled_softmax import SampledSoftmax
from ..training.session import Scorer, Scores, Session, session_of
from .anchors import Anchors, more_anchors, own_anchors
from .false_negatives import FalseNegatives
from .samplers import Lines, Sampler
from .scores import Scored
from .towers import TOWERS, Places
from .triplet_stage import schedule_of

# The hard negatives `(n,)` of an epoch, from the vectors of rows of questions and passages.
Miner: TypeAlias = Callable[[int, Callable[[Integers, Integers], Floats]], list[Integers]]


@dataclass(frozen=True)
class PairOptions:
    """How stage 1 by pairs learns: a teacher's settings, those of its pairs, and the seed.

    `parallel_temperature` says how evenly the languages of parallel text are drawn.
    """

    teacher: TeacherSettings
    pairs: PairSettings
    parallel_temperature: float = 2.0
    seed: int = 0


def teach_pairs(
    base: KerasEncoder,
    dataset: Dataset,
    pairs: Pairs,
    options: PairOptions,
    languages: Sequence[str],
    mine: Miner | None = None,
    sources: Sequence[Parallel] = (),
    session: Session | None = None,
) -> KerasEncoder | DualEncoder:
    """Train `base` on `pairs` and leave the best epoch on dev; returns the encoder, or one of each role.

    The `options` give the sampler, the loss and the optimizer; `languages` are dev's. Epochs are those of the teacher,
    BM25's and online. Lines of parallel text, `sources`, ask too where these say so. `mine(epoch, vectors)`,
    where given, gives the hard negatives of an epoch, arrays of rows of passages `(n,)`, from the encoder's own
    `vectors(questions, passages)`, of rows of either; else those of the pairs stay. A checkpoint of the `session` keeps
    an epoch's negatives too. Raises `ConfigError` where no pair is of the languages that batches take.
    """
    session = session_of("teacher", session)
    with shared_by(session.options):
        stage = PairStage(base, dataset, pairs, options, languages, mine, sources, session)
        fit(stage.trainer, stage.batches, stage.score, schedule_of(options.teacher), session)
    return stage.towers.encoder(session.stage)


class PairStage:
    """One run of stage 1 by pairs: token ids, the sampler, the filter and the trainer."""

    def __init__(
        self,
        base: KerasEncoder,
        dataset: Dataset,
        pairs: Pairs,
        options: PairOptions,
        languages: Sequence[str],
        mine: Miner | None = None,
        sources: Sequence[Parallel] = (),
        session: Session | None = None,
    ):
        self.session = session or Session()
        teacher, of_pairs = options.teacher, options.pairs
        lines = None
        if share := of_pairs.parallel_share:
            pairs, lines = translating(pairs, sources, teacher.language, share, options.parallel_temperature)
        self.settings, self.pairs, self.mine = of_pairs, pairs, mine
        self.seed, self.questions = options.seed, lines.first if lines else len(pairs.questions)
        self.sampler = Sampler(pairs, of_pairs.batches, teacher.language, teacher.batch_size, options.seed, lines)
        self.scored = self.scored_by(self.session.scorer) if self.session.scorer else None
        scorer = self.scored.settings if self.scored else None
        by_scorer = scorer.filter_margin if scorer else 0.0
        self.filter = FalseNegatives(pairs, of_pairs.filters, of_pairs.filter_margin, by_scorer)
        self.parts = -(-self.sampler.total // of_pairs.chunk_size) if of_pairs.chunk_size else 1
        dev = DevScore(base.tokenizer, *self.session.scored_on(dataset, languages), teacher.unit)
        questions = base.tokenizer.encode([question.text for question in pairs.questions], "question")
        passages = base.tokenizer.encode(list(pairs.passages), "document")
        self.towers = TOWERS[of_pairs.encoders](base, questions, passages, dev)
        self.loss, rate = SampledSoftmax(of_pairs.scale, self.parts, scorer), teacher.learning_rate
        self.trainer = self.towers.trainer(
            self.loss, rate, teacher.train_table, parts=self.parts, options=self.session.options
        )

    def scored_by(self, scorer: Scorer) -> Scored:
        """The scorer's vectors of the pairs' questions and passages."""
        return Scored.of(scorer, [question.text for question in self.pairs.questions], list(self.pairs.passages))

    def score(self) -> Scores:
        """The dev score, the scale, and what was filtered since the last one."""
        counted = self.filter.taken()
        if counted:
            say("left out as false negatives: " + told(counted))
        return {**self.towers.score(), "scale": round(self.loss.scale, 4), "filtered": counted}

    def vectors(self, questions: Integers, passages: Integers) -> Floats:
        """The vectors `(q + p, d)` of rows of the questions and of the passages, by the encoder or the scorer."""
        if self.scored and self.scored.settings.negatives:
            return np.concatenate([self.scored.questions[questions], self.scored.passages[passages]])
        return self.towers.vectors(np.concatenate([questions, self.towers.first + passages]))

    def mined(self, mine: Miner, epoch: int) -> list[Integers]:
        """The rows that `mine` gives, of an epoch that was broken off as they were mined then."""
        rows, sizes = self.session.kept("negatives", epoch, lambda: end_to_end(mine(epoch, self.vectors)))
        return np.split(rows, np.cumsum(sizes)[:-1])

    def batches(self, epoch: int) -> list[Maker]:
        """The batches of an epoch, or their parts, with the negatives that are mined for it."""
        if self.mine:
            of_lines = self.pairs.negatives[self.questions :]
            self.pairs = self.pairs.with_negatives([*self.mined(self.mine, epoch), *of_lines])
        rng = np.random.default_rng((self.seed, 5, epoch))
        makers = []
        for questions, passages in self.sampler.batches(self.settings.pairs_an_epoch, epoch):
            negatives = hard_negatives(self.pairs, questions, passages, self.settings.hard_negatives, rng)
            makers += Batch(self, questions, passages, negatives).makers()
        return makers


def end_to_end(rows: Sequence[Integers]) -> list[Integers]:
    """Arrays `[(n,)]` as one, and their lengths."""
    return [np.concatenate(rows), np.array([len(row) for row in rows])]


def translating(
    pairs: Pairs, sources: Sequence[Parallel], pivot: str, share: float, temperature: float
) -> tuple[Pairs, Lines]:
    """The pairs with those of parallel text after them, and the `samplers.Lines` that draws these."""
    sources = [others for source in sources if (others := without_pivots(source, pivot)).texts]
    both, first = with_lines(pairs, sources, pivot), len(pairs.questions)
    passages = np.concatenate(both.positives[first:])
    groups, _ = groups_of(sources)
    return both, Lines(first, passages, groups, shares(sources, temperature), share)


class Batch:
    """One batch: its distinct texts, each once, and which is whose question, passage and negative."""

    def __init__(self, stage: PairStage, questions: Integers, passages: Integers, negatives: Integers):
        self.stage, self.questions, self.passages = stage, questions, passages
        self.negatives = negatives.ravel()
        first = len(stage.pairs.questions)
        columns = np.concatenate([passages, np.where(self.negatives < 0, passages[0], self.negatives)])
        self.texts, where = np.unique(np.concatenate([questions, first + columns]), return_inverse=True)
        self.question, self.passage = np.split(where.astype(np.int32), [len(questions)])

    def makers(self) -> list[Maker]:
        """Functions that each make the input of a step: the batch, or one of its parts."""
        if self.stage.parts == 1:
            with_margin = bool(self.stage.filter.margin)
            return [self._maker(self.with_margin if with_margin else self.whole, ahead=not with_margin)]
        pieces = self.stage.towers.split(self.texts, self.stage.parts)
        parts = [partial(self.part, live, counted, number) for number, (live, counted) in enumerate(pieces)]
        return [self._maker(part) for part in parts]

    def _maker(self, make, ahead=False):
        return Maker(make, self.ids, "softmax loss", ahead)

    def ids(self) -> list[str]:
        """The names of the batch's questions."""
        return named(self.stage.pairs.questions[row] for row in self.questions)

    def whole(self, scores: Floats | None = None) -> StepInput:
        """All texts with gradients; `scores`, cosines of questions and columns, are what the filter's margin needs."""
        return {**self.stage.towers.pack(self.texts), **self.columns(scores)}

    def columns(self, scores: Floats | None) -> StepInput:
        """The places of questions and columns, the columns that are no negatives, and the scorer's scores of all."""
        rows, columns = self.questions, np.concatenate([self.passages, self.negatives])
        labels = self.stage.scored.scores(rows, columns) if self.stage.scored else None
        same = self.stage.filter.mask(rows, self.passages, self.negatives, scores, labels)
        x: StepInput = {"question": self.question, "passage": self.passage, "same": same}
        if labels is None:
            return x
        return {**x, "scorer": labels, "known": np.broadcast_to(columns >= 0, labels.shape)}

    def with_margin(self) -> StepInput:
        """All texts with gradients, filtered by the scores of the encoder as it is."""
        return self.whole(self.scores(self.vectors()))

    def part(self, live: Places, counted: Floats, number: int) -> StepInput:
        """The texts `live` with gradients; those of all without are computed with the first part and left by the last.

        An epoch's batches are made one after another, and all are held.
        """
        if number == 0:
            vectors = self.vectors()
            self.shared = {**self.columns(self.scores(vectors)), "cached": vectors}
        shared = self.shared
        if number == self.stage.parts - 1:
            del self.shared
        of_part: StepInput = {"live": live, "counted": counted, "first": np.array(number == 0, dtype=np.float32)}
        return {**self.stage.towers.pack(self.texts[live]), **shared, **of_part}

    def vectors(self) -> Floats:
        """The vectors of the texts, without gradients."""
        return self.stage.towers.vectors(self.texts)

    def scores(self, vectors: Floats) -> Floats:
        """The cosines of questions and columns, `(b, b + m)`."""
        return vectors[self.question] @ vectors[self.passage].T


def hard_negatives(
    pairs: Pairs, questions: Integers, passages: Integers, many: int, rng: np.random.Generator
) -> Integers:
    """int `(b, many)`: rows of each question's negatives, in its passage's language where it can be; -1 for none."""
    negatives = np.full((len(questions), many), NONE, dtype=np.int64)
    for place, (row, passage) in enumerate(zip(questions, passages, strict=True)):
        known = pairs.negatives[row]
        chosen = rng.permutation(known)[:many] if many and len(known) else ()
        negatives[place, : len(chosen)] = [pairs.in_language(one, pairs.languages[passage]) for one in chosen]
    return negatives


def told(counted: Mapping[str, Mapping[str, int]]) -> str:
    """`{kind: {language: n}}` in words, all languages together; the log has them one by one."""
    return ", ".join(f"{sum(of.values())} by {kind}" for kind, of in counted.items())


def mined_in(dataset: Dataset, options: PairOptions, pairs: Pairs, triplets: Sequence[Triplets] = ()) -> Miner:
    """The `mine` of `teach_pairs`: a question's negatives are those of its parallel in the teacher's language.

    BM25's in the first epochs, then the encoder's own, by `anchors.own_anchors`; as many candidates as the pairs take.
    Those of other collections, of `triplets`, are mined among their own passages.
    """
    mining = replace(options.teacher, negatives=options.pairs.hard_negatives, answer_sentences=False)
    if pairs.more is None:
        return _mined_in_own(dataset, mining, options.seed, pairs, len(pairs.questions))
    of_data = _mined_in_own(dataset, mining, options.seed, pairs, pairs.more.first)
    mining = replace(mining, answer_sentences=options.teacher.answer_sentences)
    anchors = more_anchors(triplets, mining.language, mining, options.seed, pairs.more.first)
    more = _mined_in_more(anchors, pairs.more.first, int(pairs.positives[pairs.more.first][0] - anchors.gold[0]))
    return lambda epoch, vectors: [*of_data(epoch, vectors), *more(epoch, vectors)]


def _mined_in_more(anchors: Anchors, first_question: int, first_passage: int) -> Miner:
    """Negatives of the questions that an epoch asks of other collections, which stand behind the data set's own."""
    many, none = len(anchors.questions), np.zeros(0, dtype=np.int64)

    def mine(epoch, vectors):
        def of(rows):
            questions = rows[rows < many]
            return vectors(first_question + questions, first_passage + rows[len(questions) :] - many)

        mined = [none] * many
        rows, _, negatives = anchors.triplets(epoch, of)
        for row, columns in zip(rows, negatives, strict=True):
            mined[row] = first_passage + columns[columns >= 0]
        return mined

    return mine


def _mined_in_own(dataset: Dataset, mining: TeacherSettings, seed: int, pairs: Pairs, many: int) -> Miner:
    """Negatives of the first `many` questions of the pairs, the data set's own; its passages come first, too."""
    language, questions_of_data = mining.language, pairs.questions[:many]
    anchors = own_anchors(dataset, language, mining, seed)
    ids = [question.id for question in dataset.select(language, "train")]
    row_of = {(question.id, question.language): row for row, question in enumerate(questions_of_data)}
    row_of_anchor, none = np.array([row_of[id, language] for id in ids]), np.zeros(0, dtype=np.int64)

    def mine(epoch, vectors):
        def of(rows):
            questions = rows[rows < len(ids)]
            return vectors(row_of_anchor[questions], rows[len(questions) :] - len(ids))

        rows, _, negatives = anchors.triplets(epoch, of)
        mined = {ids[row]: columns[columns >= 0] for row, columns in zip(rows, negatives, strict=True)}
        return [mined.get(question.id, none) for question in questions_of_data]

    return mine
