"""Stage 1 by in-batch softmax over pairs of many languages. LAReQA, section 4; Sentri, sections 3.1 and 3.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from ...data.dataset import Dataset
from ...data.more_questions import Triplets
from ...data.pairs import NONE, Pairs, add_lines
from ...data.parallel import Parallel, compute_shares, drop_pivots, group_pairs
from ...encoders.dual_encoder import DualEncoder
from ...encoders.encoder import KerasEncoder
from ...settings.sections import PairSettings, TeacherSettings
from ...students.embeddings import add_segments
from ...system.progress import say
from ...system.types import Floats, Integers
from ..batches import BatchMaker, StepInput, name_questions
from ..dev_score import DevScore
from ..devices import share_devices
from ..loop import fit
from ..losses import SampledSoftmax
from ..session import Scorer, ScorerVectors, Scores, Session, name_session
from .anchors import Anchors, more_anchors, own_anchors
from .mined_pairs import FalseNegatives
from .samplers import ParallelLines, Sampler
from .towers import TOWERS, Places
from .triplet_stage import choose_weights, teacher_schedule

# The hard negatives `(n,)` of an epoch, from the vectors of rows of questions and passages.
Miner: TypeAlias = Callable[[int, Callable[[Integers, Integers], Floats]], list[Integers]]


@dataclass(frozen=True)
class PairOptions:
    """The options of stage 1 by pairs: the teacher's settings, those of its pairs, and the seed.

    `parallel_temperature` determines how evenly the languages of parallel text are drawn.
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
    """Train an encoder, or one per role, on pairs, and keep the best epoch on dev.

    Raises `ConfigError` if no pair is in the languages that batches take.

    Args:
        options: The sampler, the loss and the optimizer. Epochs are those of the teacher, BM25's and online ones.
        mine: Returns the hard negatives of an epoch, arrays of rows of passages `(n,)`, given the epoch and a function
            that returns the encoder's vectors of rows of questions and passages. Without it the pairs' own are used. A
            checkpoint of the session keeps them.
        sources: Parallel text, whose lines are questions too if the options ask for a share.
    """
    session = name_session("teacher", session)
    with share_devices(session.options):
        stage = PairStage(base, dataset, pairs, options, languages, mine, sources, session)
        fit(stage.trainer, stage.batches, stage.score, teacher_schedule(options.teacher), session)
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
            pairs, lines = add_parallel_pairs(pairs, sources, teacher.language, share, options.parallel_temperature)
        self.settings, self.pairs, self.mine = of_pairs, pairs, mine
        self.seed, self.questions = options.seed, lines.first if lines else len(pairs.questions)
        self.sampler = Sampler(pairs, of_pairs.batches, teacher.language, teacher.batch_size, options.seed, lines)
        self.scored = self.encode_by_scorer(self.session.scorer) if self.session.scorer else None
        scorer = self.scored.settings if self.scored else None
        by_scorer = scorer.filter_margin if scorer else 0.0
        self.filter = FalseNegatives(pairs, of_pairs.filters, of_pairs.filter_margin, by_scorer)
        self.parts = -(-self.sampler.total // of_pairs.chunk_size) if of_pairs.chunk_size else 1
        if pairs.contexts:
            base = KerasEncoder(add_segments(base.model), base.tokenizer, base.name)
        dev = DevScore(base.tokenizer, *self.session.choose_dev(dataset, languages), teacher.unit, base)
        questions = base.tokenizer.encode([question.text for question in pairs.questions], "question")
        contexts = [*pairs.contexts, *[""] * (len(pairs.passages) - len(pairs.contexts))] if pairs.contexts else None
        passages = base.tokenize(pairs.passages, "document", contexts)
        self.towers = TOWERS[of_pairs.encoders](base, questions, passages, dev)
        self.loss = SampledSoftmax(of_pairs.scale, self.parts, scorer, of_pairs.scale_trained)
        table, table_schedule = choose_weights(teacher)
        self.trainer = self.towers.trainer(
            self.loss,
            teacher.learning_rate,
            table,
            parts=self.parts,
            options=self.session.options,
            table_schedule=table_schedule,
        )

    def encode_by_scorer(self, scorer: Scorer) -> ScorerVectors:
        """Encode the pairs' questions and passages by the scorer."""
        return ScorerVectors.of(scorer, [question.text for question in self.pairs.questions], list(self.pairs.passages))

    def score(self) -> Scores:
        """Return the dev score, the scale, and the number of passages filtered since the last score."""
        counted = self.filter.take_counts()
        if counted:
            say("left out as false negatives: " + format_counts(counted))
        return {**self.towers.score(), "scale": round(self.loss.scale, 4), "filtered": counted}

    def vectors(self, questions: Integers, passages: Integers) -> Floats:
        """Encode questions and passages by the encoder or the scorer. Returns the vectors `(q + p, d)`."""
        if self.scored and self.scored.settings.negatives:
            return np.concatenate([self.scored.questions[questions], self.scored.passages[passages]])
        return self.towers.vectors(np.concatenate([questions, self.towers.first + passages]))

    def mine_epoch(self, mine: Miner, epoch: int) -> list[Integers]:
        """Mine the negatives of an epoch, or load those of an epoch that was broken off."""
        rows, sizes = self.session.keep("negatives", epoch, lambda: concatenate(mine(epoch, self.vectors)))
        return np.split(rows, np.cumsum(sizes)[:-1])

    def batches(self, epoch: int) -> list[BatchMaker]:
        """Return the batches of an epoch, or their parts, with the negatives that are mined for it."""
        if self.mine:
            of_lines = self.pairs.negatives[self.questions :]
            self.pairs = self.pairs.with_negatives([*self.mine_epoch(self.mine, epoch), *of_lines])
        rng = np.random.default_rng((self.seed, 5, epoch))
        makers = []
        for questions, passages in self.sampler.batches(self.settings.pairs_an_epoch, epoch):
            negatives = draw_hard_negatives(self.pairs, questions, passages, self.settings.hard_negatives, rng)
            makers += Batch(self, questions, passages, negatives).makers()
        return makers


def concatenate(rows: Sequence[Integers]) -> list[Integers]:
    """Join arrays `[(n,)]` to one, and return it with their lengths."""
    return [np.concatenate(rows), np.array([len(row) for row in rows])]


def add_parallel_pairs(
    pairs: Pairs, sources: Sequence[Parallel], pivot: str, share: float, temperature: float
) -> tuple[Pairs, ParallelLines]:
    """Add the pairs of parallel text.

    Returns all pairs, and the `samplers.ParallelLines` that draws those of parallel text.
    """
    sources = [others for source in sources if (others := drop_pivots(source, pivot)).texts]
    both, first = add_lines(pairs, sources, pivot), len(pairs.questions)
    passages = np.concatenate(both.positives[first:])
    groups, _ = group_pairs(sources)
    return both, ParallelLines(first, passages, groups, compute_shares(sources, temperature), share)


class Batch:
    """One batch: its distinct texts, each once, and the places of questions, passages and negatives among them."""

    def __init__(self, stage: PairStage, questions: Integers, passages: Integers, negatives: Integers):
        self.stage, self.questions, self.passages = stage, questions, passages
        self.negatives = negatives.ravel()
        first = len(stage.pairs.questions)
        columns = np.concatenate([passages, np.where(self.negatives < 0, passages[0], self.negatives)])
        self.texts, where = np.unique(np.concatenate([questions, first + columns]), return_inverse=True)
        self.question, self.passage = np.split(where.astype(np.int32), [len(questions)])

    def makers(self) -> list[BatchMaker]:
        """Return functions that each make the input of a step: the batch, or one of its parts."""
        if self.stage.parts == 1:
            with_margin = bool(self.stage.filter.margin)
            return [self._maker(self.with_margin if with_margin else self.whole, ahead=not with_margin)]
        pieces = self.stage.towers.split(self.texts, self.stage.parts)
        parts = [partial(self.part, live, counted, number) for number, (live, counted) in enumerate(pieces)]
        return [self._maker(part) for part in parts]

    def _maker(self, make, ahead=False):
        return BatchMaker(make, self.ids, "softmax loss", ahead)

    def ids(self) -> list[str]:
        """Return the names of the batch's questions."""
        return name_questions(self.stage.pairs.questions[row] for row in self.questions)

    def whole(self, scores: Floats | None = None) -> StepInput:
        """Make the input of a step with gradients for all texts.

        Args:
            scores: The cosines of questions and columns, which the filter's margin needs.
        """
        return {**self.stage.towers.pack(self.texts), **self.columns(scores)}

    def columns(self, scores: Floats | None) -> StepInput:
        """Return the places of questions and columns, the columns that are no negatives, and the scorer's scores."""
        rows, columns = self.questions, np.concatenate([self.passages, self.negatives])
        labels = self.stage.scored.scores(rows, columns) if self.stage.scored else None
        same = self.stage.filter.mask(rows, self.passages, self.negatives, scores, labels)
        x: StepInput = {"question": self.question, "passage": self.passage, "same": same}
        if labels is None:
            return x
        return {**x, "scorer": labels, "known": np.broadcast_to(columns >= 0, labels.shape)}

    def with_margin(self) -> StepInput:
        """Make the input of a step with gradients for all texts, filtered by the current encoder's scores."""
        return self.whole(self.scores(self.vectors()))

    def part(self, live: Places, counted: Floats, number: int) -> StepInput:
        """Make the input of a step with gradients for some texts.

        The vectors of the others are computed with the first part and dropped with the last one. An epoch's batches are
        made one after another.
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
        """Return the vectors of the texts, without gradients."""
        return self.stage.towers.vectors(self.texts)

    def scores(self, vectors: Floats) -> Floats:
        """Return the cosines of questions and columns, `(b, b + m)`."""
        return vectors[self.question] @ vectors[self.passage].T


def draw_hard_negatives(
    pairs: Pairs, questions: Integers, passages: Integers, count: int, rng: np.random.Generator
) -> Integers:
    """Draw the negatives of questions, in their passage's language if possible.

    `questions` are the rows of the questions, int `(b,)`. `passages` are the rows of their passages, int `(b,)`.
    Returns the rows of the negatives, int `(b, count)`, -1 for none.
    """
    negatives = np.full((len(questions), count), NONE, dtype=np.int64)
    for place, (row, passage) in enumerate(zip(questions, passages, strict=True)):
        known = pairs.negatives[row]
        chosen = rng.permutation(known)[:count] if count and len(known) else ()
        negatives[place, : len(chosen)] = [pairs.in_language(one, pairs.languages[passage]) for one in chosen]
    return negatives


def format_counts(counted: Mapping[str, Mapping[str, int]]) -> str:
    """Format the counts of filtered passages, all languages together. The log has them by language."""
    return ", ".join(f"{sum(of.values())} by {kind}" for kind, of in counted.items())


def make_miner(dataset: Dataset, options: PairOptions, pairs: Pairs, triplets: Sequence[Triplets] = ()) -> Miner:
    """Return the miner of `teach_pairs`: a question takes the negatives of its parallel in the teacher's language.

    The first epochs use BM25's negatives, the others the encoder's own (`anchors.own_anchors`). Questions of other
    collections are mined among their own passages.
    """
    # Each passage of a document is a positive of triplets alone: what a pair's negatives are near to is its own.
    positives = "maxp" if options.teacher.positives == "maxp" else "gold"
    mining = replace(
        options.teacher, negatives=options.pairs.hard_negatives, answer_sentences=False, positives=positives
    )
    if pairs.more is None:
        return _make_own_miner(dataset, mining, options.seed, pairs, len(pairs.questions))
    of_data = _make_own_miner(dataset, mining, options.seed, pairs, pairs.more.first)
    mining = replace(mining, answer_sentences=options.teacher.answer_sentences)
    anchors = more_anchors(triplets, mining.language, mining, options.seed, pairs.more.first)
    more = _make_other_miner(anchors, pairs.more.first, int(pairs.positives[pairs.more.first][0] - anchors.gold[0]))
    return lambda epoch, vectors: [*of_data(epoch, vectors), *more(epoch, vectors)]


def _make_other_miner(anchors: Anchors, first_question: int, first_passage: int) -> Miner:
    """Return the miner of the questions of other collections, which come after the data set's own."""
    count, none = len(anchors.questions), np.zeros(0, dtype=np.int64)

    def mine(epoch, vectors):
        def of(rows):
            questions = rows[rows < count]
            return vectors(first_question + questions, first_passage + rows[len(questions) :] - count)

        mined = [none] * count
        rows, _, negatives = anchors.triplets(epoch, of)
        for row, columns in zip(rows, negatives, strict=True):
            mined[row] = first_passage + columns[columns >= 0]
        return mined

    return mine


def _make_own_miner(dataset: Dataset, mining: TeacherSettings, seed: int, pairs: Pairs, count: int) -> Miner:
    """Return the miner of the pairs' first `count` questions, the data set's own, whose passages come first too."""
    language, questions_of_data = mining.language, pairs.questions[:count]
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
