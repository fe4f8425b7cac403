"""Stage 1: train a teacher in the dominant language by triplets. CL-ReLKT, section 3.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from keras import ops

from ...data.dataset import Dataset
from ...data.more_questions import Triplets
from ...encoders.batching import shuffle_batches
from ...encoders.encoder import KerasEncoder, encode_ids
from ...settings.sections import ScorerSettings, TeacherSettings
from ...students.embeddings import UsedRows
from ...system.progress import say, task
from ...system.types import Floats, Integers, Tensor
from ..batches import BatchMaker, StepInput
from ..dev_score import DevScore
from ..devices import share_devices
from ..loop import fit
from ..losses import contrastive_loss, scorer_loss, triplet_loss
from ..rates import TableSchedule
from ..session import Schedule, Scorer, ScorerVectors, Scores, Session, name_session
from ..trainer import Trainer
from .anchors import anchors_by_epoch, more_anchors

# What is said of an epoch's negatives, by their kind in the log.
FOUND = {"BM25": "negatives by BM25", "online": "negatives mined online by the encoder"}


def teach(
    base: KerasEncoder,
    dataset: Dataset,
    language: str,
    settings: TeacherSettings,
    seed: int = 0,
    session: Session | None = None,
    triplets: Sequence[Triplets] = (),
) -> KerasEncoder:
    """Train an encoder on the train questions of a language.

    The first `settings.bm25_epochs` take negatives from BM25, the other `online_epochs` from the encoder itself.

    Args:
        base: The encoder to start from.
        dataset: The data set.
        language: The language.
        settings: The settings of stage 1.
        seed: The random seed.
        session: The session. Its checkpoint keeps an epoch's triplets too.
        triplets: More questions in that language, with pools of their own.

    Returns:
        The teacher.

    Raises:
        ConfigError: If the session's options ask for more devices than there are.

    Example:
        >>> import distill
        >>> settings = distill.Settings().teacher
        >>> settings.bm25_epochs, settings.online_epochs = 1, 0
        >>> teacher = distill.teach(distill.load_encoder("my-encoder"), distill.load_dataset("my-data"), "en", settings)
        >>> teacher.encode(["How old is it?"]).shape
        (1, 16)
    """
    session = name_session("teacher", session)
    with share_devices(session.options):
        stage = TripletStage(base, dataset, language, settings, seed, session, triplets)
        fit(stage.trainer, stage.batches, stage.dev, teacher_schedule(settings), session)
    return KerasEncoder(stage.used.restore(base.model), base.tokenizer, "teacher")


def teacher_schedule(settings: TeacherSettings) -> Schedule:
    """Return the epochs that the settings ask for."""
    epochs = settings.bm25_epochs + settings.online_epochs
    return Schedule(epochs, linear=settings.schedule == "linear", warmup=settings.warmup_share)


def choose_weights(settings: TeacherSettings) -> tuple[bool, TableSchedule]:
    """Return whether the embedding table trains, and whether it does so alone."""
    return settings.trained_weights != "network", TableSchedule(alone=settings.trained_weights == "table")


class TripletStage:
    """One run of stage 1: token ids, the anchors that mine their triplets, and the trainer."""

    def __init__(
        self,
        base: KerasEncoder,
        dataset: Dataset,
        language: str,
        settings: TeacherSettings,
        seed: int,
        session: Session | None = None,
        triplets: Sequence[Triplets] = (),
    ):
        self.settings, self.seed, self.session = settings, seed, session or Session()
        self.anchors = anchors_by_epoch(dataset, language, settings, seed)
        if triplets:
            count = len(self.anchors[0].questions)
            self.anchors.append(more_anchors(triplets, language, settings, seed, count))
        dev = DevScore(base.tokenizer, *self.session.choose_dev(dataset, [language]), settings.unit)
        tokens = [
            ids
            for anchors in self.anchors
            for texts, role in anchors.by_role
            for ids in base.tokenizer.encode(texts, role)
        ]
        self.used = UsedRows(base.model, tokens + dev.tokens)
        self.dev_score, self.mined = partial(dev.score, self.used), Scores()
        self.tokens = self.used.ids(tokens)
        self.scored = self.encode_by_scorer(self.session.scorer) if self.session.scorer else None
        loss = partial(batch_loss, settings=settings, scorer=self.scored.settings if self.scored else None)
        rate, table, table_schedule = settings.learning_rate, *choose_weights(settings)
        self.trainer = Trainer(
            self.used.small, loss, rate, table, options=self.session.options, table_schedule=table_schedule
        )

    def dev(self) -> Scores:
        """Return the scores on dev, with the kind and the number of the epoch's triplets once one has begun."""
        return {**self.dev_score(), **self.mined}

    def encode_by_scorer(self, scorer: Scorer) -> ScorerVectors:
        """Encode all texts of `tokens` by the scorer, each in its role."""
        parts = [scorer.vectors(texts, role) for anchors in self.anchors for texts, role in anchors.by_role]
        vectors = np.concatenate(parts)
        return ScorerVectors(scorer.settings, vectors, vectors, vectors[:0])

    def batches(self, epoch: int) -> list[BatchMaker]:
        """Return the batches of an epoch: the anchors that have a negative, in a seeded order."""
        anchor, positive, negatives = self.session.keep("triplets", epoch, lambda: self.triplets(epoch))
        kind = "BM25" if epoch <= self.settings.bm25_epochs else "online"
        self.mined = {"negatives": kind, "triplets": int((negatives >= 0).sum())}
        say(f"{self.session.stage} epoch {epoch}: {self.mined['triplets']} triplets, {FOUND[kind]}")
        if self.settings.triplets_apart:
            anchor, positive = (np.repeat(rows, negatives.shape[1]) for rows in (anchor, positive))
            negatives = negatives.reshape(-1, 1)
        usable = np.flatnonzero((negatives >= 0).any(axis=1))
        order = shuffle_batches(len(usable), self.settings.batch_size, self.seed + epoch)
        parts = [[column[usable[rows]] for column in (anchor, positive, negatives)] for rows in order]
        if self.trainer.shapes and len(parts) > 1 and (lacking := len(order[0]) - len(order[-1])):
            # Each shape is a program, and the last batch is smaller: anchors without negatives, which weigh 0, fill it.
            empty = [column[:1].repeat(lacking, axis=0) for column in parts[-1]]
            empty[2] = np.full_like(empty[2], -1)
            parts[-1] = [np.concatenate(both) for both in zip(parts[-1], empty, strict=True)]
        return [self.maker(*of_batch) for of_batch in parts]

    def maker(self, anchor: Integers, positive: Integers, negatives: Integers) -> BatchMaker:
        make = partial(self.batch, anchor, positive, negatives)
        return BatchMaker(make, partial(self.ids, anchor), f"{self.settings.loss} loss", ahead=True)

    def ids(self, anchors: Integers) -> list[str]:
        """Return the names of the questions at rows of `tokens`."""
        names = [name for one in self.anchors for name in [*one.names, *[""] * len(one.passages)]]
        return [names[row] for row in dict.fromkeys(map(int, anchors))]

    def triplets(self, epoch: int) -> list[Integers]:
        """Return the triplets of an epoch as rows of `tokens`: anchors `(m,)`, positives `(m,)`, negatives `(m, n)`, -1
        for none.
        """
        first, columns = 0, []
        for anchors in self.anchors:
            if anchors.ask_in(epoch):
                rows, positive, negatives = anchors.triplets(epoch, partial(self.vectors, first, epoch))
                pool = first + len(anchors.questions)
                columns.append((first + rows, pool + positive, np.where(negatives >= 0, pool + negatives, -1)))
            first += len(anchors.texts)
        anchor, positive, negatives = (np.concatenate(column) for column in zip(*columns, strict=True))
        if self.scored:
            closed = self.scored.false_negatives(anchor, positive, negatives)
            negatives = np.where(closed, -1, negatives)
            if closed.any():
                say(f"left out as false negatives: {closed.sum()} by the scorer")
        return [anchor, positive, negatives]

    def vectors(self, first: int, epoch: int, rows: Integers) -> Floats:
        """Encode texts by the encoder or the scorer. Returns the vectors `(n, d)`.

        Args:
            first: The first row of the texts in `tokens`.
            rows: The rows, counted from `first`.
        """
        if self.scored and self.scored.settings.negatives:
            return self.scored.passages[first + rows]
        with task(f"teacher epoch {epoch}: vectors to mine from", len(rows)) as advance:
            return encode_ids(self.used.small, [self.tokens[first + row] for row in rows], advance)

    def batch(self, anchor: Integers, positive: Integers, negatives: Integers) -> StepInput:
        """Make the input of a step: each distinct text once, and the places of anchors, positives and negatives."""
        filled = np.where(negatives >= 0, negatives, positive[:, None])
        texts, where = np.unique(np.concatenate([anchor, positive, filled.ravel()]), return_inverse=True)
        places = np.split(where.astype(np.int32), [len(anchor), 2 * len(anchor)])
        candidates = np.concatenate([positive[:, None], filled], axis=1)
        scored = {"scorer": self.scored.scores(anchor, candidates)} if self.scored else {}
        return {
            **scored,
            **self.used.small.pack([self.tokens[i] for i in texts]),
            "anchor": places[0],
            "positive": places[1],
            "negatives": places[2].reshape(negatives.shape),
            "weights": (negatives >= 0).astype(np.float32),
        }


def batch_loss(
    vectors: Tensor, x: Mapping[str, Tensor], settings: TeacherSettings, scorer: ScorerSettings | None = None
) -> Tensor:
    """Compute the mean loss of a batch's triplets (or anchors, with the contrastive loss), and that of a scorer's
    labels.
    """
    anchor, positive = ops.take(vectors, x["anchor"], axis=0), ops.take(vectors, x["positive"], axis=0)
    negatives = ops.take(vectors, x["negatives"], axis=0)  # (b, n, d)
    beside = scored_loss(anchor, positive, negatives, x, scorer) if scorer else 0.0
    if settings.loss == "contrastive":
        losses = contrastive_loss(anchor, positive, negatives, settings.temperature, x["weights"])
        return beside + mean_of_real(losses, x["weights"])
    triplets = triplet_loss(anchor, positive, negatives, settings.margin) * x["weights"]
    return beside + ops.sum(triplets) / ops.sum(x["weights"])


def scored_loss(
    anchor: Tensor, positive: Tensor, negatives: Tensor, x: Mapping[str, Tensor], scorer: ScorerSettings
) -> Tensor:
    """Compute the mean of `scorer_loss` over the anchors, each with its positive before its negatives."""
    scores = ops.sum(anchor[:, None] * ops.concatenate([positive[:, None], negatives], axis=1), axis=-1)  # (b, 1 + n)
    first = ops.ones_like(scores[:, :1])
    is_positive = ops.concatenate([first, ops.zeros_like(scores[:, 1:])], axis=1) > 0
    known = ops.concatenate([first, x["weights"]], axis=1) > 0
    return mean_of_real(scorer_loss(scores, x["scorer"], scorer, is_positive, known), x["weights"])


def mean_of_real(losses: Tensor, weights: Tensor) -> Tensor:
    """Compute the mean of the losses `(b,)` of anchors that have a negative; the others fill a batch."""
    real = ops.max(weights, axis=1)
    return ops.sum(losses * real) / ops.sum(real)
