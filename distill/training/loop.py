"""The loop that both stages share: epochs, dev scores, learning rates, and the best epoch kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import keras
import numpy as np
from keras import ops

from ..errors import InputError
from ..system.progress import say, task
from ..system.types import File, Floats
from .batches import Make, make_ahead
from .batches import State as ShapesState
from .checkpoints import Groups
from .rates import LearningRateSchedule, ScaledLoss
from .session import JUDGED_BY, Schedule, ScoreName, Scores, Session, name_session
from .training_model import TrainedModel, UnreadLosses

Arrays: TypeAlias = list[Floats]
Owner: TypeAlias = keras.Model | keras.optimizers.Optimizer


class ShapeFacts(TypedDict, total=False):
    """The shapes of a checkpoint's steps, where XLA compiles a program for each."""

    shapes: ShapesState


class Facts(ShapeFacts):
    """The plain values of a checkpoint: the rows of the log, the losses of the epoch's steps, the best scores."""

    quantised: bool
    epoch: int
    losses: list[list[float]]
    step: int
    before: list[Scores]
    scores: list[Scores]
    best: list[float]
    stale: int
    averaged: int
    rows: int


State: TypeAlias = tuple[Facts, Groups]


def fit(
    trainer: TrainedModel,
    batches: Callable[[int], Sequence[Make]],
    evaluate: Callable[[], Scores],
    schedule: Schedule,
    session: Session | None = None,
) -> list[Scores]:
    """Train a model in place, and leave the best weights in `trainer.encoder`.

    The learning rate is halved whenever the dev score does not rise (CL-ReLKT, section 4.3), unless the schedule sets
    it. Quantised epochs (`Trainer.quantise`) start from the best float weights, scored anew, with the learning rate
    that the float epochs left; the weights that remain are theirs, not rounded. If patience runs out before them, only
    the float epochs end. Averaging takes the last epochs of each phase, whatever dev says about them, and ignores
    patience; Izmailov et al. (2018), section 3.2. `evaluate` returns the scores on dev by which the schedule judges.
    Returns the dev scores, the start's first. Raises `TrainingError` if a loss is not a finite number and `InputError`
    if the checkpoint is that of another training.
    """
    loop = Loop(trainer, batches, evaluate, schedule, name_session("training", session))
    state = loop.session.checkpoint.load() if loop.session.checkpoint else None
    for epochs, rounded in loop.list_phases():
        # An earlier phase than the checkpoint's is done.
        if not state or rounded == state[0]["quantised"]:
            scores = loop.phase(epochs, rounded, state)
            loop.before, state = [*loop.before, *scores], None
    loop.say_skipped()
    return loop.before


@dataclass
class Loop:
    """The phases of one `fit`. `step` counts through all phases; `before` are the scores of the earlier ones."""

    trainer: TrainedModel
    batches: Callable[[int], Sequence[Make]]
    evaluate: Callable[[], Scores]
    schedule: Schedule
    session: Session
    step: int = 0
    before: list[Scores] = field(default_factory=list)

    def __post_init__(self) -> None:
        peak, of = float(self.trainer.optimizer.learning_rate), self.schedule
        self.rates = LearningRateSchedule(peak, of.epochs, of.linear, of.warmup)

    def list_phases(self) -> list[tuple[range, bool]]:
        """List the numbers of each phase's epochs, and whether these round the weights."""
        epochs, quantised = self.schedule.epochs, self.schedule.quantised
        first = epochs - quantised + 1
        return [(range(1, first), False), *([(range(first, epochs + 1), True)] if quantised else [])]

    def say_skipped(self) -> None:
        """Say how many steps moved nothing, if the loss is scaled."""
        if isinstance(self.trainer.optimizer, ScaledLoss):
            taken, what = self.step * self.trainer.parts, "steps" if self.trainer.parts == 1 else "parts of steps"
            skipped = self.trainer.optimizer.count_skipped(taken)
            say(f"{self.session.stage}: {skipped} of {taken} {what} were skipped, as their gradients overflowed")

    def phase(self, numbers: range, quantised: bool = False, state: State | None = None) -> list[Scores]:
        """Train some epochs, and leave their best weights or the mean of the last epochs'.

        Returns the scores, the start's first and that of a mean last.
        """
        self.trainer.quantise(quantised)
        averaged, patience = self.schedule.averaged, self.schedule.patience
        best, mean = BestWeights(self.trainer, None if averaged else patience, self.schedule.judged_by), MeanWeights()
        epoch, losses = numbers.start, []
        if state and self.session.checkpoint:
            epoch, losses = self.restore(state, best, mean, self.session.checkpoint.folder)
        else:
            self.score(best, self.find_kept_epoch())
        while epoch < numbers.stop and not best.spent:
            self.epoch(best, mean, epoch, losses)
            if epoch >= numbers.stop - averaged:
                mean.add(self.trainer.get_kept_weights())
            epoch, losses = epoch + 1, []
            self.save(best, mean, epoch, losses)
        if mean.count:
            self.trainer.set_kept_weights(mean.weights)
            self.score(best, numbers.stop - 1, averaged=mean.count)
        else:
            best.restore()
        return best.scores

    def find_kept_epoch(self) -> int:
        """Return the epoch of the weights that the phase before left, 0 for the first weights."""
        scores, judged_by = self.before, self.schedule.judged_by
        if not scores or "averaged" in scores[-1]:
            return scores[-1]["epoch"] if scores else 0
        return max(scores, key=lambda one: tuple(one[name] for name in judged_by))["epoch"]

    def epoch(self, best: BestWeights, mean: MeanWeights, epoch: int, losses: list[list[float]]) -> None:
        """Take the epoch's steps after the `len(losses)` that are taken already; `losses` are added to.

        A step has as many batches as the trainer has `parts`, and a loss of each.
        """
        makers, stage, every = self.batches(epoch), self.session.stage, self.schedule.every
        parts = self.trainer.parts
        # Of each phase: its best weights are left, and without a score they would be those that it began with.
        ends = self.schedule.ends or any(epoch == numbers.stop - 1 for numbers, _ in self.list_phases())
        self.trainer.plan_shapes(makers)
        first, unread = len(losses), UnreadLosses(self.trainer, stage)
        title, ahead = (
            f"{stage} epoch {epoch}/{self.schedule.epochs}",
            make_ahead(makers[first:], self.trainer.shape_batch),
        )
        with task(title, len(makers)) as advance, ahead as next_batch:
            advance(first)
            for taken, make in enumerate(makers[first:], start=first + 1):
                # The parts of a step share what the first of them computed.
                begins, whole = (taken - 1) % parts == 0, taken % parts == 0
                self.step += begins
                rate = self.set_rate(epoch, (taken - 1) // parts, len(makers) // parts)
                self.trainer.take_step(next_batch())
                unread.add(make, f"step {self.step} of epoch {epoch}", rate)
                last, saved = taken == len(makers), whole and self.is_due
                scored = (last and ends) or (every and whole and self.step % every == 0)
                if scored or last or saved or unread.due:
                    losses += unread.read()
                if scored:
                    self.score(best, epoch, losses=losses)
                    if rate is None:
                        best.slow_down()
                advance(1, self.describe_progress(best, losses))
                if best.spent:
                    break
                if saved:
                    self.save(best, mean, epoch, losses)

    def describe_progress(self, best: BestWeights, losses: Sequence[Sequence[float]]) -> str:
        """Return the mean of the epoch's losses so far, if they were read, and the last score."""
        name = self.schedule.judged_by[0]
        dev = f"dev {name.upper()} {best.scores[-1][name]:.3f}"
        return f"loss {np.mean(losses, axis=0)[0]:.4f}, {dev}" if losses else dev

    def set_rate(self, epoch: int, taken: int, steps: int) -> float | None:
        """Set the learning rate of the next step, and return it, or None if the schedule leaves it to the loop."""
        rate = self.rates.at(epoch, taken, steps)
        if rate is not None:
            self.trainer.optimizer.learning_rate = rate
        return rate

    @property
    def is_due(self) -> bool:
        """True where the checkpoint is so old that it is written within an epoch too."""
        return self.session.checkpoint is not None and self.session.checkpoint.due

    def score(self, best: BestWeights, epoch: int, averaged: int = 0, losses: Sequence[Sequence[float]] = ()) -> None:
        """Evaluate the weights on dev, log it with the means of the epoch's `losses` so far, and show it the watch."""
        with self.trainer.as_shipped():
            scores: Scores = {"epoch": epoch, **self.evaluate()}
        if self.trainer.quantised:
            scores["quantised"] = True
        if averaged:
            scores["averaged"] = averaged
        best.offer(scores)
        self.session.log.write(self.session.stage, step=self.step, **scores, **_describe_state(self.trainer, losses))
        if self.session.watch:
            self.session.watch(self.step, scores)

    def save(self, best: BestWeights, mean: MeanWeights, epoch: int, losses: list[list[float]]) -> None:
        """Write the checkpoint: of this epoch `losses` are those of the steps that are taken."""
        if not self.session.checkpoint:
            return
        facts: Facts = {
            "quantised": self.trainer.quantised,
            "epoch": epoch,
            "losses": losses,
            "step": self.step,
            "before": self.before,
            "scores": best.scores,
            "best": list(best.best or ()),
            "stale": best.stale,
            "averaged": mean.count,
            "rows": len(self.session.log.of(self.session.stage)),
        }
        if self.trainer.shapes:
            facts["shapes"] = self.trainer.shapes.state()
        groups = {
            "weights": read_weights(self.trainer),
            "optimizer": read_weights(self.trainer.optimizer),
            "best": best.weights,
            "mean": mean.weights,
        }
        self.session.checkpoint.save(facts, groups)

    def restore(self, state: State, best: BestWeights, mean: MeanWeights, place: File) -> tuple[int, list[list[float]]]:
        """Take the state of the checkpoint at `place` over; returns the epoch and the losses of its steps.

        Raises `InputError` for that of another training.
        """
        facts, groups = state
        self.trainer.optimizer.build(self.trainer.trainable_variables)
        for owner, name in ((self.trainer, "weights"), (self.trainer.optimizer, "optimizer")):
            assign_weights(owner, groups.get(name, []), place)
        self.step, self.before = facts["step"], facts["before"]
        best.scores, best.best, best.stale = facts["scores"], tuple(facts["best"]), facts["stale"]
        best.weights = groups["best"]
        mean.count, mean.weights = facts["averaged"], groups.get("mean", [])
        if self.trainer.shapes and "shapes" in facts:
            self.trainer.shapes.restore(facts["shapes"])
        return facts["epoch"], facts["losses"]


def read_weights(owner: Owner) -> Arrays:
    """Return the values of a trainer's or an optimizer's variables."""
    return [ops.convert_to_numpy(variable) for variable in _variables(owner)]


def assign_weights(owner: Owner, values: Arrays, place: File) -> None:
    """Assign values to the variables of a trainer or an optimizer."""
    variables = _variables(owner)
    if [tuple(variable.shape) for variable in variables] != [value.shape for value in values]:
        raise InputError(f"{place}: the checkpoint of another training; remove it, and the stage begins anew")
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _variables(owner):
    # A model's variables hold its metrics' too, which count within a step.
    counted = {id(variable) for variable in getattr(owner, "metrics_variables", ())}
    return [variable for variable in owner.variables if id(variable) not in counted]


def _describe_state(trainer, losses):
    """Return the figures of an evaluation within training; the start and a mean have none."""
    if not losses:
        return {}
    loss, *terms = np.mean(losses, axis=0).tolist()
    named = {"terms": dict(zip(trainer.terms, terms, strict=True))} if terms else {}
    return {"loss": loss, **named, "learning_rate": float(trainer.optimizer.learning_rate)}


class BestWeights:
    """The best dev score so far and the weights that gave it.

    The second name of `judged_by` breaks ties of the first.
    """

    def __init__(self, trainer: TrainedModel, patience: int | None = None, judged_by: Sequence[ScoreName] = JUDGED_BY):
        self.trainer, self.patience, self.judged_by = trainer, patience, judged_by
        self.scores: list[Scores] = []
        self.weights: Arrays = []
        self.best: tuple[float, ...] | None = None
        self.stale = 0

    @property
    def spent(self) -> bool:
        """True if patience has run out."""
        return self.stale >= self.patience if self.patience else False

    def offer(self, scores: Scores) -> None:
        """Add an evaluation of the current weights. Of equal ones the first stays the best."""
        self.scores.append(scores)
        key = tuple(scores[name] for name in self.judged_by)
        if self.best is None or key > self.best:
            self.best, self.stale, self.weights = key, 0, self.trainer.get_kept_weights()
        else:
            self.stale += 1

    def slow_down(self) -> None:
        """Halve the learning rate if the last evaluation was no better."""
        if self.stale:
            optimizer = self.trainer.optimizer
            optimizer.learning_rate = float(optimizer.learning_rate) / 2

    def restore(self) -> None:
        self.trainer.set_kept_weights(self.weights)


class MeanWeights:
    """The mean of the weights that were added."""

    def __init__(self) -> None:
        self.count = 0
        self.weights: Arrays = []

    def add(self, weights: Arrays) -> None:
        self.count += 1
        if self.count == 1:
            self.weights = [weight.copy() for weight in weights]
        for mean, weight in zip(self.weights, weights, strict=True):
            mean += (weight - mean) / self.count
