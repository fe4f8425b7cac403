"""Stage 1: a teacher in the dominant language, by triplets. CL-ReLKT, section 3.1."""

from functools import cached_property, partial

import numpy as np
from keras import ops

from .batching import pack
from .encoder import KerasEncoder, encode_ids
from .losses import contrastive_loss, triplet_loss
from .mining import bm25_candidates, draw, false_negatives, online_negatives
from .students.rows import UsedRows
from .tracking import DevScore
from .training import Trainer, fit, shuffled


def teach(base, dataset, language, settings, seed=0, log=None, watch=None):
    """Train `base` (a `KerasEncoder`) on the train questions of `language`; returns the teacher, the same kind.

    The first `settings.bm25_epochs` take negatives from BM25, the other `online_epochs` from the encoder itself.
    `watch` is `training.fit`'s.
    """
    stage = TripletStage(base, dataset, language, settings, seed)
    epochs = settings.bm25_epochs + settings.online_epochs
    fit(stage.trainer, stage.batches, stage.dev, epochs, None, "teacher", log, watch=watch)
    return KerasEncoder(stage.used.restore(base.model), base.tokenizer, "teacher")


class TripletStage:
    """What one run of stage 1 holds: token ids, mined negatives and the trainer."""

    def __init__(self, base, dataset, language, settings, seed):
        self.dataset, self.settings, self.seed = dataset, settings, seed
        self.questions = dataset.select(language, "train")
        self.gold = np.array([question.passage for question in self.questions])
        self.forbidden = false_negatives(self.questions, dataset.document_of)
        dev = DevScore(base.tokenizer, dataset, [language], settings.unit)
        texts = [question.text for question in self.questions] + dataset.passage_texts
        tokens = base.tokenizer.encode(texts)
        self.used = UsedRows(base.model, tokens + dev.tokens)
        self.dev = partial(dev.score, self.used)
        self.tokens = self.used.ids(tokens)
        loss = partial(batch_loss, settings=settings)
        self.trainer = Trainer(self.used.small, loss, settings.learning_rate, settings.train_table)

    @cached_property
    def lexical(self):
        """BM25's candidates of each question."""
        stopwords = "en" if self.dataset.document_language == "en" else None
        queries = _lexical_queries(self.dataset, self.questions)
        return bm25_candidates(queries, self.dataset.passage_texts, self.forbidden, self.settings.negatives, stopwords)

    def batches(self, epoch):
        negatives = self.negatives(epoch)
        kept = np.flatnonzero((negatives >= 0).any(axis=1))
        order = shuffled(len(kept), self.settings.batch_size, self.seed + epoch)
        return [partial(self.batch, kept[rows], negatives[kept[rows]]) for rows in order]

    def negatives(self, epoch):
        n, seed = self.settings.negatives, self.seed + epoch
        if epoch <= self.settings.bm25_epochs:
            return draw(self.lexical, n, seed)
        vectors = encode_ids(self.used.small, self.tokens)
        first = len(self.questions)
        return online_negatives(
            vectors[:first], vectors[first:], self.gold, self.forbidden, n, self.settings.margin, seed
        )

    def batch(self, rows, negatives):
        """Each distinct text once; the index arrays say which is whose anchor, positive and negative."""
        first = len(self.questions)
        positive = first + self.gold[rows]
        filled = np.where(negatives >= 0, first + negatives, positive[:, None])
        texts, where = np.unique(np.concatenate([rows, positive, filled.ravel()]), return_inverse=True)
        anchor, positive, filled = np.split(where.astype(np.int32), [len(rows), 2 * len(rows)])
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


def _lexical_queries(dataset, questions):
    """BM25 compares words, so it asks in the documents' language where the parallel question is there."""
    parallel = dataset.questions.get(dataset.document_language, {})
    return [parallel.get(question.id, question).text for question in questions]
