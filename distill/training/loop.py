"""The loop that both stages share: epochs, dev score, halved learning rate, the best epoch kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from keras import ops

from ..errors import InputError, TrainingError
from ..system.progress import task
from .batches import diverged
from .log import RunLog
from .trainer import Trainer


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
    checkpoint=None,
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
    `checkpoint`, a `checkpoints.Checkpoint`, holds all of this after each epoch, and within one as often as it is due;
    where it holds a state already, training goes on from there and ends as if it had not stopped.
    Raises `TrainingError` on a loss that is not a number, `InputError` for a checkpoint of another training.
    """
    loop = Loop(
        trainer, batches, evaluate, epochs, patience, stage, log or RunLog(), every, watch, averaged, checkpoint
    )
    return loop.run(quantised)


@dataclass
class Loop:
    """What the phases of one `fit` share; `step` counts on from one to the next, `before` are the scores of those."""

    trainer: Trainer
    batches: Callable
    evaluate: Callable
    epochs: int
    patience: int | None
    stage: str
    log: RunLog
    every: int | None
    watch: Callable | None = None
    averaged: int = 0
    checkpoint: Any = None
    step: int = 0
    before: list = field(default_factory=list)

    def run(self, quantised):
        """Both phases, from the checkpoint's place on; returns the scores."""
        first = self.epochs - quantised + 1
        phases = [(range(1, first), False), *([(range(first, self.epochs + 1), True)] if quantised else [])]
        state = self.checkpoint.load() if self.checkpoint else None
        for numbers, rounded in phases:
            if state and rounded != state[0]["quantised"]:
                continue
            found = self.phase(numbers, rounded, state)
            self.before, state = [*self.before, *found], None
        return self.before

    def phase(self, numbers, quantised=False, state=None):
        """Train the epochs of the range `numbers` and leave their best weights, or the mean of the last epochs'.

        Returns the scores, the start's first and that of a mean last.
        """
        self.trainer.quantise(quantised)
        best, mean = Best(self.trainer, None if self.averaged else self.patience), Mean()
        epoch, losses = numbers.start, []
        if state:
            epoch, losses = self.restore(state, best, mean)
        else:
            self.score(best, numbers.start - 1)
        while epoch < numbers.stop and not best.spent:
            self.epoch(best, mean, epoch, losses)
            if epoch >= numbers.stop - self.averaged:
                mean.add(self.trainer.encoder.get_weights())
            epoch, losses = epoch + 1, []
            self.save(best, mean, epoch, losses)
        if mean.count:
            self.trainer.encoder.set_weights(mean.weights)
            self.score(best, numbers.stop - 1, averaged=mean.count)
        else:
            best.restore()
        return best.scores

    def epoch(self, best, mean, epoch, losses):
        """Take the epoch's steps after the `len(losses)` that are taken already; `losses` are added to."""
        makers = self.batches(epoch)
        with task(f"{self.stage} epoch {epoch}/{self.epochs}", len(makers)) as advance:
            advance(len(losses))
            for make in makers[len(losses) :]:
                self.step += 1
                losses.append(_step(self.trainer, make, self.stage, f"step {self.step} of epoch {epoch}"))
                if len(losses) == len(makers) or (self.every and self.step % self.every == 0):
                    self.score(best, epoch, **_state(self.trainer, losses))
                    best.slow_down()
                advance(1, f"loss {np.mean(losses):.4f}, dev P@1 {best.scores[-1]['p@1']:.3f}")
                if best.spent:
                    break
                # The parts of a step share what the first of them computed.
                if self.checkpoint and self.checkpoint.due and len(losses) % self.trainer.parts == 0:
                    self.save(best, mean, epoch, losses)

    def score(self, best, epoch, averaged=0, **state):
        with self.trainer.as_shipped():
            scores = self.evaluate()
        kinds = {"quantised": self.trainer.quantised, "averaged": averaged}
        best.offer({**scores, **{name: kind for name, kind in kinds.items() if kind}}, epoch)
        self.log.write(self.stage, step=self.step, **best.scores[-1], **state)
        if self.watch:
            self.watch(self.step, best.scores[-1])

    def save(self, best, mean, epoch, losses):
        """Write the checkpoint: of this epoch `losses` are those of the steps that are taken."""
        if not self.checkpoint:
            return
        facts = {
            "quantised": self.trainer.quantised,
            "epoch": epoch,
            "losses": losses,
            "step": self.step,
            "before": self.before,
            "scores": best.scores,
            "best": best.best,
            "stale": best.stale,
            "averaged": mean.count,
            "rows": len(self.log.of(self.stage)),
        }
        groups = {
            "weights": weights_of(self.trainer),
            "optimizer": weights_of(self.trainer.optimizer),
            "best": best.weights,
            "mean": mean.weights or [],
        }
        self.checkpoint.save(facts, groups)

    def restore(self, state, best, mean):
        """Take a checkpoint's state over; returns the epoch and the losses of its steps. Raises `InputError`."""
        facts, groups = state
        self.trainer.optimizer.build(self.trainer.trainable_variables)
        for owner, name in ((self.trainer, "weights"), (self.trainer.optimizer, "optimizer")):
            assign(owner, groups.get(name, []), self.checkpoint.folder)
        self.step, self.before = facts["step"], facts["before"]
        best.scores, best.best, best.stale = facts["scores"], tuple(facts["best"]), facts["stale"]
        best.weights = groups["best"]
        mean.count, mean.weights = facts["averaged"], groups.get("mean")
        return facts["epoch"], facts["losses"]


def weights_of(owner):
    """The values of a trainer's or an optimizer's variables."""
    return [ops.convert_to_numpy(variable) for variable in _variables(owner)]


def assign(owner, values, place):
    """Put these values there. Raises `InputError` where they are those of something else."""
    variables = _variables(owner)
    if [tuple(variable.shape) for variable in variables] != [value.shape for value in values]:
        raise InputError(f"{place}: the checkpoint of another training; remove it, and the stage begins anew")
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _variables(owner):
    # A model's variables hold its metrics' too, which count within a step.
    counted = {id(variable) for variable in getattr(owner, "metrics_variables", ())}
    return [variable for variable in owner.variables if id(variable) not in counted]


def _state(trainer, losses):
    return {"loss": float(np.mean(losses)), "learning_rate": float(trainer.optimizer.learning_rate)}


def _step(trainer, make, stage, place):
    loss = float(trainer.train_on_batch(make()))
    if not math.isfinite(loss):
        raise TrainingError(diverged(stage, make, loss, place, float(trainer.optimizer.learning_rate)))
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
        self.count, self.weights = 0, []

    def add(self, weights):
        self.count += 1
        if self.count == 1:
            self.weights = [weight.copy() for weight in weights]
        for mean, weight in zip(self.weights, weights, strict=True):
            mean += (weight - mean) / self.count
