"""Stage 1 by in-batch softmax over pairs of many languages. LAReQA, section 4; Sentri, sections 3.1 and 3.2."""

from dataclasses import replace
from functools import partial

import numpy as np

from ..data.pairs import NONE, with_lines
from ..data.parallel import groups_of, shares, without_pivots
from ..system.progress import say
from ..training.batches import Maker, named
from ..training.dev_score import DevScore
from ..training.devices import shared_by
from ..training.loop import fit
from ..training.sampled_softmax import SampledSoftmax
from .anchors import own_anchors
from .false_negatives import FalseNegatives
from .samplers import Lines, Sampler
from .towers import TOWERS


def teach_pairs(
    base,
    dataset,
    pairs,
    settings,
    languages,
    mine=None,
    log=None,
    watch=None,
    stage="teacher",
    sources=(),
    checkpoint=None,
):
    """Train `base` on `pairs` (`pairs.Pairs`) and leave the best epoch on dev; returns the encoder, the same kind.

    `settings`, a `config.Settings`, gives the sampler, the loss and the optimizer; `languages` are dev's. Epochs are
    those of the teacher, BM25's and online. `sources`, `[parallel.Parallel]`, are asked too where the settings say so.
    `mine(epoch, vectors)`, where given, gives the hard negatives of an epoch, arrays of rows of passages `(n,)`, from
    the encoder's own `vectors(questions, passages)`, of rows of either; else those of the pairs stay. `watch` and
    `checkpoint` are `training.fit`'s; the latter keeps an epoch's negatives too. Raises `ConfigError` where no pair is
    of the languages asked for.
    """
    epochs = settings.teacher.bm25_epochs + settings.teacher.online_epochs
    more = {"watch": watch, "checkpoint": checkpoint}
    with shared_by(settings.training):
        stage_of = PairStage(base, dataset, pairs, settings, languages, mine, sources, checkpoint)
        fit(stage_of.trainer, stage_of.batches, stage_of.score, epochs, None, stage, log, **more)
    return stage_of.towers.encoder(stage)


class PairStage:
    """What one run of stage 1 by pairs holds: token ids, the sampler, the filter and the trainer."""

    def __init__(self, base, dataset, pairs, settings, languages, mine=None, sources=(), checkpoint=None):
        self.checkpoint = checkpoint
        teacher, options = settings.teacher, settings.pairs
        lines = None
        if options.parallel_share:
            pairs, lines = translating(pairs, sources, teacher.language, options.parallel_share, settings.student)
        self.settings, self.pairs, self.mine = options, pairs, mine
        self.seed, self.own = settings.seed, lines.first if lines else len(pairs.questions)
        self.sampler = Sampler(pairs, options.batches, teacher.language, teacher.batch_size, settings.seed, lines)
        self.filter = FalseNegatives(pairs, options.filters, options.filter_margin)
        self.parts = -(-self.sampler.total // options.chunk_size) if options.chunk_size else 1
        dev = DevScore(base.tokenizer, dataset, languages, teacher.unit)
        questions = base.tokenizer.encode([question.text for question in pairs.questions])
        self.towers = TOWERS[options.encoders](base, questions, base.tokenizer.encode(list(pairs.passages)), dev)
        loss = SampledSoftmax(options.scale, self.parts)
        more = {"parts": self.parts, "options": settings.training}
        self.trainer = self.towers.trainer(loss, teacher.learning_rate, teacher.train_table, **more)

    def score(self):
        """The dev score, the scale, and what was filtered since the last one."""
        counted = self.filter.taken()
        if counted:
            say("left out as false negatives: " + told(counted))
        return {**self.towers.score(), "scale": round(self.trainer.batch_loss.scale, 4), "filtered": counted}

    def vectors(self, questions, passages):
        """`(q + p, d)`: the encoder's own, of rows of the questions and of the passages."""
        return self.towers.vectors(np.concatenate([questions, self.towers.first + passages]))

    def mined(self, epoch):
        """What `mine` gives, of an epoch that was broken off as it was mined then."""
        if self.checkpoint is None:
            return self.mine(epoch, self.vectors)
        found, sizes = self.checkpoint.kept("negatives", epoch, lambda: end_to_end(self.mine(epoch, self.vectors)))
        return np.split(found, np.cumsum(sizes)[:-1])

    def batches(self, epoch):
        if self.mine:
            more = self.pairs.negatives[self.own :]
            self.pairs = self.pairs.with_negatives([*self.mined(epoch), *more])
        rng = np.random.default_rng((self.seed, 5, epoch))
        found = []
        for questions, passages in self.sampler.batches(self.settings.pairs_an_epoch, epoch):
            negatives = hard_negatives(self.pairs, questions, passages, self.settings.hard_negatives, rng)
            found += Batch(self, questions, passages, negatives).makers()
        return found


def end_to_end(rows):
    """Arrays `[(n,)]` as one, and their lengths."""
    return np.concatenate(rows), np.array([len(row) for row in rows])


def translating(pairs, sources, pivot, share, settings):
    """The pairs with those of parallel text after them, and the `samplers.Lines` that draws these."""
    sources = [found for source in sources if (found := without_pivots(source, pivot)).texts]
    both, first = with_lines(pairs, sources, pivot), len(pairs.questions)
    passages = np.concatenate(both.positives[first:])
    groups, _ = groups_of(sources)
    return both, Lines(first, passages, groups, shares(sources, settings.parallel_temperature), share)


class Batch:
    """One batch: its distinct texts, each once, and which is whose question, passage and negative."""

    def __init__(self, stage, questions, passages, negatives):
        self.stage, self.questions, self.passages = stage, questions, passages
        self.negatives = negatives.ravel()
        first = len(stage.pairs.questions)
        columns = np.concatenate([passages, np.where(self.negatives < 0, passages[0], self.negatives)])
        self.texts, where = np.unique(np.concatenate([questions, first + columns]), return_inverse=True)
        self.question, self.passage = np.split(where.astype(np.int32), [len(questions)])

    def makers(self):
        """Functions that each make what the trainer takes: the batch, or one of its parts."""
        if self.stage.parts == 1:
            return [self._maker(self.with_margin if self.stage.filter.margin else self.whole)]
        pieces = self.stage.towers.split(self.texts, self.stage.parts)
        made = [partial(self.part, live, counted, number) for number, (live, counted) in enumerate(pieces)]
        return [self._maker(part) for part in made]

    def _maker(self, make):
        return Maker(make, self.ids, "softmax loss")

    def ids(self):
        """What names the batch's questions."""
        return named(self.stage.pairs.questions[row] for row in self.questions)

    def whole(self, scores=None):
        same = self.stage.filter.mask(self.questions, self.passages, self.negatives, scores)
        return {**self.stage.towers.pack(self.texts), "question": self.question, "passage": self.passage, "same": same}

    def with_margin(self):
        return self.whole(self.scores(self.vectors()))

    def part(self, live, counted, number):
        """The texts `live` with gradients; those of all without are computed with the first part and left by the last.

        An epoch's batches are made one after another, and all are held.
        """
        if number == 0:
            vectors = self.vectors()
            same = self.stage.filter.mask(self.questions, self.passages, self.negatives, self.scores(vectors))
            self.shared = {"question": self.question, "passage": self.passage, "same": same, "cached": vectors}
        shared = self.shared
        if number == self.stage.parts - 1:
            del self.shared
        own = {"live": live, "counted": counted, "first": np.float32(number == 0)}
        return {**self.stage.towers.pack(self.texts[live]), **shared, **own}

    def vectors(self):
        return self.stage.towers.vectors(self.texts)

    def scores(self, vectors):
        return vectors[self.question] @ vectors[self.passage].T


def hard_negatives(pairs, questions, passages, many, rng):
    """int `(b, many)`: rows of each question's negatives, in its passage's language where it can be; -1 for none."""
    found = np.full((len(questions), many), NONE, dtype=np.int64)
    for place, (row, passage) in enumerate(zip(questions, passages, strict=True)):
        known = pairs.negatives[row]
        chosen = rng.permutation(known)[:many] if many and len(known) else ()
        found[place, : len(chosen)] = [pairs.in_language(one, pairs.languages[passage]) for one in chosen]
    return found


def told(counted):
    """`{kind: {language: n}}` in words, all languages together; the log has them one by one."""
    return ", ".join(f"{sum(of.values())} by {kind}" for kind, of in counted.items())


def mined_in(dataset, settings, pairs):
    """The `mine` of `teach_pairs`: a question's negatives are those of its parallel in the teacher's language.

    BM25's in the first epochs, then the encoder's own, by `anchors.own_anchors`; as many candidates as the pairs take.
    """
    language = settings.teacher.language
    asks = replace(settings.teacher, negatives=settings.pairs.hard_negatives)
    anchors = own_anchors(dataset, language, asks, settings.seed)
    asked = [question.id for question in dataset.select(language, "train")]
    row_of = {(question.id, question.language): row for row, question in enumerate(pairs.questions)}
    own, none = np.array([row_of[id, language] for id in asked]), np.zeros(0, dtype=np.int64)
    first = int(np.flatnonzero(pairs.languages == dataset.document_language)[0])

    def mine(epoch, vectors):
        def of(rows):
            questions = rows[rows < len(own)]
            return vectors(own[questions], first + rows[len(questions) :] - len(own))

        rows, _, negatives = anchors.triplets(epoch, of)
        known = {asked[row]: first + found[found >= 0] for row, found in zip(rows, negatives, strict=True)}
        return [known.get(question.id, none) for question in pairs.questions]

    return mine
