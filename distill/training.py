"""The loop that both stages share: epochs, dev score, halved learning rate, the best epoch kept.

`keras.Model.fit` fixes a batch's shape from the first two it sees; packed texts differ in length from step to
step, so the loop calls `train_on_batch`, which compiles once for all lengths.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from .errors import TrainingError
from .export.form import Precision
from .fakequant import fake_encode, quantised
from .progress import task
from .runlog import RunLog


class Trainer(keras.Model):
    """An encoder under training; a batch's `loss(vectors, x)` sees the vectors of all its packed texts.

    `precision`, by default `Precision()`, is what `quantise` rounds weights to. With `parts` above 1 that many batches
    make one step, of the mean of their gradients. A `loss` that is a Keras layer trains its own weights too.
    """

    def __init__(self, encoder, loss, learning_rate, train_table=True, precision=None, parts=1):
        super().__init__()
        self.encoder, self.batch_loss = encoder, loss
        self.precision, self.quantised = precision or Precision(), False
        for student in getattr(encoder, "towers", [encoder]):
            student.get_layer("embedding").trainable = train_table
        together = {"gradient_accumulation_steps": parts} if parts > 1 else {}
        self.compile(optimizer=keras.optimizers.Adam(learning_rate, **together), jit_compile=False)

    def call(self, x):
        packed = x["ids"], x["segments"], x["counts"]
        if self.quantised:
            return fake_encode(self.encoder, self.precision, *packed)
        return self.encoder.encode_packed(*packed)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        # PyTorch's trainer hands the batch over as NumPy arrays.
        return self.batch_loss(y_pred, {name: ops.convert_to_tensor(value) for name, value in x.items()})

    def quantise(self, on=True):
        """Compute with rounded weights from the next step on, or again with the weights as they are."""
        if on != self.quantised:
            self.quantised = on
            # Keras has traced the step with the other weights.
            self.make_train_function(force=True)

    def as_shipped(self):
        """A context in which `encoder` has the weights that steps compute with: rounded ones when `quantised`."""
        return quantised(self.encoder, self.precision) if self.quantised else nullcontext()


def fit(
    trainer,
    batches,
    evaluate,
    epochs,
    patience=None,
    stage="training",
    log=None,
    every=None,
    quantised=0,
    watch=None,
    averaged=0,
):
    """Train in place and leave the best weights in `trainer.encoder`; returns the dev scores, start first.

    `batches(epoch)` gives the epoch's list of functions that make a batch; `evaluate()` gives a dict with
    "p@1" and "mrr@10" on dev. Evaluated each epoch, or each `every` steps; the learning rate halves whenever
    the score does not rise, and with `patience` training stops after so many such evaluations in a row.
    CL-ReLKT, section 4.3.

    The last `quantised` of the epochs train and are scored with rounded weights (`Trainer.quantise`). They start from
    the best float weights, scored anew, with the learning rate that the float epochs left, and theirs are the weights
    that are left, not rounded. Patience that runs out before them ends the float epochs alone.

    With `averaged` not the best epoch's weights are left but the mean of those after so many epochs at the end of each
    phase, whatever dev says of them, and patience does not count. Izmailov et al. (2018), section 3.2.

    `watch(step, scores)` is called at each evaluation, also of the start; what it raises ends the training.
    Raises `TrainingError` on a loss that is not a number.
    """
    loop = Loop(trainer, batches, evaluate, epochs, patience, stage, log or RunLog(), every, watch, averaged)
    scores = loop.phase(range(1, epochs - quantised + 1))
    if quantised:
        scores += loop.phase(range(epochs - quantised + 1, epochs + 1), quantised=True)
    return scores


@dataclass
class Loop:
    """What the phases of one `fit` share; `step` counts on from one to the next."""

    trainer: Trainer
    batches: object
    evaluate: object
    epochs: int
    patience: int | None
    stage: str
    log: RunLog
    every: int | None
    watch: object = None
    averaged: int = 0
    step: int = 0

    def phase(self, numbers, quantised=False):
        """Train the epochs of the range `numbers` and leave their best weights, or the mean of the last epochs'.

        Returns the scores, the start's first and that of a mean last.
        """
        self.trainer.quantise(quantised)
        best, mean = Best(self.trainer, None if self.averaged else self.patience), Mean()
        self.score(best, numbers.start - 1)
        for epoch in numbers:
            self.epoch(best, epoch)
            if epoch >= numbers.stop - self.averaged:
                mean.add(self.trainer.encoder.get_weights())
            if best.spent:
                break
        if mean.count:
            self.trainer.encoder.set_weights(mean.weights)
            self.score(best, numbers.stop - 1, averaged=mean.count)
        else:
            best.restore()
        return best.scores

    def epoch(self, best, epoch):
        makers, losses = self.batches(epoch), []
        with task(f"{self.stage} epoch {epoch}/{self.epochs}", len(makers)) as advance:
            for make in makers:
                self.step += 1
                losses.append(_step(self.trainer, make(), self.stage, self.step))
                if len(losses) == len(makers) or (self.every and self.step % self.every == 0):
                    self.score(best, epoch, **_state(self.trainer, losses))
                    best.slow_down()
                advance(1, f"loss {np.mean(losses):.4f}, dev P@1 {best.scores[-1]['p@1']:.3f}")
                if best.spent:
                    break

    def score(self, best, epoch, averaged=0, **state):
        with self.trainer.as_shipped():
            scores = self.evaluate()
        kinds = {"quantised": self.trainer.quantised, "averaged": averaged}
        best.offer({**scores, **{name: kind for name, kind in kinds.items() if kind}}, epoch)
        self.log.write(self.stage, step=self.step, **best.scores[-1], **state)
        if self.watch:
            self.watch(self.step, best.scores[-1])


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


class Mean:
    """The mean of the weights that were added, all with the same weight."""

    def __init__(self):
        self.count, self.weights = 0, None

    def add(self, weights):
        self.count += 1
        if self.count == 1:
            self.weights = [weight.copy() for weight in weights]
        for mean, weight in zip(self.weights, weights, strict=True):
            mean += (weight - mean) / self.count


def shuffled(n, size, seed):
    """Index batches of 0…n-1 in a seeded order."""
    order = np.random.default_rng(seed).permutation(n)
    return [order[start : start + size] for start in range(0, n, size)]
