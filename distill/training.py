"""The loop that both stages share: epochs, dev score, halved learning rate, the best epoch kept.

`keras.Model.fit` fixes a batch's shape from the first two it sees; packed texts differ in length from step to
step, so the loop calls `train_on_batch`, which compiles once for all lengths.
"""

import math

import keras
import numpy as np
from keras import ops

from .errors import TrainingError
from .progress import task
from .runlog import RunLog


class Trainer(keras.Model):
    """An encoder under training; a batch's `loss(vectors, x)` sees the vectors of all its packed texts."""

    def __init__(self, encoder, loss, learning_rate, train_table=True):
        super().__init__()
        self.encoder, self.batch_loss = encoder, loss
        encoder.get_layer("embedding").trainable = train_table
        self.compile(optimizer=keras.optimizers.Adam(learning_rate), jit_compile=False)

    def call(self, x):
        return self.encoder.encode_packed(x["ids"], x["segments"], x["counts"])

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        # PyTorch's trainer hands the batch over as NumPy arrays.
        return self.batch_loss(y_pred, {name: ops.convert_to_tensor(value) for name, value in x.items()})


def fit(trainer, batches, evaluate, epochs, patience=None, stage="training", log=None, every=None):
    """Train in place and leave the best weights in `trainer.encoder`; returns the dev scores, start first.

    `batches(epoch)` gives the epoch's list of functions that make a batch; `evaluate()` gives a dict with
    "p@1" and "mrr@10" on dev. Evaluated each epoch, or each `every` steps; the learning rate halves whenever
    the score does not rise, and with `patience` training stops after so many such evaluations in a row.
    CL-ReLKT, section 4.3.
    Raises `TrainingError` on a loss that is not a number.
    """
    log = log or RunLog()
    best = Best(trainer, patience)
    best.offer(evaluate(), 0)
    log.write(stage, step=0, **best.scores[-1])
    step = 0
    for epoch in range(1, epochs + 1):
        makers = batches(epoch)
        with task(f"{stage} epoch {epoch}/{epochs}", len(makers)) as advance:
            losses = []
            for make in makers:
                losses.append(_step(trainer, make(), stage, step := step + 1))
                if len(losses) == len(makers) or (every and step % every == 0):
                    best.offer(evaluate(), epoch)
                    log.write(stage, step=step, **best.scores[-1], **_state(trainer, losses))
                    best.slow_down()
                advance(1, f"loss {np.mean(losses):.4f}, dev P@1 {best.scores[-1]['p@1']:.3f}")
                if best.spent:
                    break
        if best.spent:
            break
    best.restore()
    return best.scores


def _state(trainer, losses):
    return {"loss": float(np.mean(losses)), "learning_rate": float(trainer.optimizer.learning_rate)}


def _step(trainer, batch, stage, step):
    loss = float(trainer.train_on_batch(batch))
    if not math.isfinite(loss):
        raise TrainingError(f"{stage}: the loss is {loss} at step {step}; try a lower learning rate")
    return loss


class Best:
    """The best dev score so far and the weights that gave it; ties of P@1 are broken by MRR@10."""

    def __init__(self, trainer, patience=None):
        self.trainer, self.patience = trainer, patience
        self.scores, self.best, self.stale = [], None, 0

    @property
    def spent(self):
        return bool(self.patience) and self.stale >= self.patience

    def offer(self, scores, epoch):
        self.scores.append({"epoch": epoch, **scores})
        key = (scores["p@1"], scores["mrr@10"])
        if self.best is None or key > self.best:
            self.best, self.stale, self.weights = key, 0, self.trainer.encoder.get_weights()
        else:
            self.stale += 1

    def slow_down(self):
        if self.stale:
            optimizer = self.trainer.optimizer
            optimizer.learning_rate = float(optimizer.learning_rate) / 2

    def restore(self):
        self.trainer.encoder.set_weights(self.weights)


def shuffled(n, size, seed):
    """Index batches of 0…n-1 in a seeded order."""
    order = np.random.default_rng(seed).permutation(n)
    return [order[start : start + size] for start in range(0, n, size)]
