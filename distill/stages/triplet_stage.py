"""Stage 1: a teacher in the dominant language, by triplets. CL-ReLKT, section 3.1."""

from functools import partial

import numpy as np
from keras import ops

from ..data.draws import shuffled
from ..encoders.batching import pack
from ..encoders.encoder import KerasEncoder, encode_ids
from ..students.rows import UsedRows
from ..system.progress import task
from ..training.batches import Maker
from ..training.dev_score import DevScore
from ..training.devices import shared_by
from ..training.loop import fit
from ..training.losses import contrastive_loss, triplet_loss
from ..training.trainer import Trainer
from .anchors import more_anchors, own_anchors


def teach(base, dataset, language, settings, seed=0, log=None, triplets=(), watch=None, training=None, checkpoint=None):
    """Train `base` (a `KerasEncoder`) on the train questions of `language`; returns the teacher, the same kind.

    The first `settings.bm25_epochs` take negatives from BM25, the other `online_epochs` from the encoder itself.
    `triplets`, `[Triplets]`, are more questions in that language, with a pool of passages of their own. `watch` and
    `checkpoint` are `training.fit`'s; the latter keeps an epoch's triplets too. `training`, a `TrainingSettings`, says
    how steps are computed.
    """
    epochs, more = settings.bm25_epochs + settings.online_epochs, {"watch": watch, "checkpoint": checkpoint}
    with shared_by(training):
        stage = TripletStage(base, dataset, language, settings, seed, triplets, training, checkpoint)
        fit(stage.trainer, stage.batches, stage.dev, epochs, None, "teacher", log, **more)
    return KerasEncoder(stage.used.restore(base.model), base.tokenizer, "teacher")


class TripletStage:
    """What one run of stage 1 holds: token ids, the anchors that mine their triplets, and the trainer."""

    def __init__(self, base, dataset, language, settings, seed, triplets=(), training=None, checkpoint=None):
        self.settings, self.seed, self.checkpoint = settings, seed, checkpoint
        self.anchors = [own_anchors(dataset, language, settings, seed)]
        if triplets:
            own = len(self.anchors[0].questions)
            self.anchors.append(more_anchors(triplets, language, settings, seed, own))
        dev = DevScore(base.tokenizer, dataset, [language], settings.unit)
        tokens = base.tokenizer.encode([text for anchors in self.anchors for text in anchors.texts])
        self.used = UsedRows(base.model, tokens + dev.tokens)
        self.dev = partial(dev.score, self.used)
        self.tokens = self.used.ids(tokens)
        loss = partial(batch_loss, settings=settings)
        rate, table = settings.learning_rate, settings.train_table
        self.trainer = Trainer(self.used.small, loss, rate, table, options=training)

    def batches(self, epoch):
        anchor, positive, negatives = self.kept(epoch)
        kept = np.flatnonzero((negatives >= 0).any(axis=1))
        order = shuffled(len(kept), self.settings.batch_size, self.seed + epoch)
        chosen = [kept[rows] for rows in order]
        return [self.maker(anchor[rows], positive[rows], negatives[rows]) for rows in chosen]

    def maker(self, anchor, positive, negatives):
        make = partial(self.batch, anchor, positive, negatives)
        return Maker(make, partial(self.ids, anchor), f"{self.settings.loss} loss")

    def ids(self, anchors):
        """What names the questions of these rows of `tokens`."""
        names = [name for one in self.anchors for name in [*one.names, *[""] * len(one.passages)]]
        return [names[row] for row in anchors]

    def kept(self, epoch):
        """`triplets`, those of an epoch that was broken off as they were mined then."""
        if self.checkpoint is None:
            return self.triplets(epoch)
        return self.checkpoint.kept("triplets", epoch, lambda: self.triplets(epoch))

    def triplets(self, epoch):
        """Anchors `(m,)`, positives `(m,)` and negatives `(m, n)` of an epoch, as rows of `tokens`; -1 for none."""
        first, found = 0, []
        for anchors in self.anchors:
            rows, positive, negatives = anchors.triplets(epoch, partial(self.vectors, first, epoch))
            pool = first + len(anchors.questions)
            found.append((first + rows, pool + positive, np.where(negatives >= 0, pool + negatives, -1)))
            first += len(anchors.texts)
        return [np.concatenate(column) for column in zip(*found, strict=True)]

    def vectors(self, first, epoch, rows):
        """The encoder's own, of `tokens` from `first` on."""
        with task(f"teacher epoch {epoch}: vectors to mine from", len(rows)) as advance:
            return encode_ids(self.used.small, [self.tokens[first + row] for row in rows], advance)

    def batch(self, anchor, positive, negatives):
        """Each distinct text once; the index arrays say which is whose anchor, positive and negative."""
        filled = np.where(negatives >= 0, negatives, positive[:, None])
        texts, where = np.unique(np.concatenate([anchor, positive, filled.ravel()]), return_inverse=True)
        anchor, positive, filled = np.split(where.astype(np.int32), [len(anchor), 2 * len(anchor)])
        return {
            **pack([self.tokens[i] for i in texts], self.used.small.gap),
            "anchor": anchor,
            "positive": positive,
            "negatives": filled.reshape(negatives.shape),
            "weights": (negatives >= 0).astype(np.float32),
        }


def batch_loss(vectors, x, settings):
    """The mean over a batch's triplets (or anchors, for the contrastive loss)."""
    anchor, positive = ops.take(vectors, x["anchor"], axis=0), ops.take(vectors, x["positive"], axis=0)
    negatives = ops.take(vectors, x["negatives"], axis=0)  # (b, n, d)
    if settings.loss == "contrastive":
        return ops.mean(contrastive_loss(anchor, positive, negatives, settings.temperature, x["weights"]))
    triplets = triplet_loss(anchor, positive, negatives, settings.margin) * x["weights"]
    return ops.sum(triplets) / ops.sum(x["weights"])
