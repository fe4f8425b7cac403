"""Learning rates: that of the table apart from the rest, and those of a training's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import keras
from keras import ops

from ..encoders.compilation import fuse_adam
from ..system.types import Booleans, Integers, Tensor


@dataclass(frozen=True)
class TableSchedule:
    """The training of an embedding table: its learning `rate`, 0 for that of the rest, and the `rows` that move.

    `rows`, bool `(vocabulary,)`, is None for all. With some, or if the table trains `alone`, no other weight of the
    encoder moves. `settles` is true if some weights will stay as they are from a later step on.
    """

    rate: float = 0.0
    rows: Booleans | None = None
    alone: bool = False
    settles: bool = False


class FusedAdam(keras.optimizers.Adam):
    """Adam whose step is one operation per variable on TensorFlow, where Keras's is several.

    Momentum moves every row of a table in each step, so that each operation reads and writes the whole table. The
    equations are those of Keras (Kingma and Ba, 2015, section 2, the last lines), and so is the state.
    """

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: Tensor) -> None:
        """Update one variable. Keras calls this, on TensorFlow with the variable's value."""
        if keras.backend.backend() != "tensorflow":
            super().update_step(gradient, variable, learning_rate)
            return
        place, step = self._get_variable_index(variable), ops.cast(self.iterations + 1, "float32")
        powers = ops.power(self.beta_1, step), ops.power(self.beta_2, step)
        rates = (learning_rate, self.beta_1, self.beta_2, self.epsilon)
        fuse_adam(gradient, variable, (self._momentums[place].value, self._velocities[place].value), powers, rates)


class TableAdam(FusedAdam):
    """Adam that moves tables `factor` times as fast as the other weights, and only the given rows of them.

    A gradient times a factor would change nothing, because Adam divides by its size; a gradient of zero moves nothing.
    The factor stays when the learning rate changes. There is no further state, so a checkpoint is one of Adam.
    """

    def __init__(
        self,
        learning_rate: float,
        factor: float,
        tables: Sequence[keras.Variable],
        parts: int = 1,
        rows: Booleans | None = None,
    ):
        super().__init__(learning_rate, gradient_accumulation_steps=parts if parts > 1 else None)
        self.is_table, self.is_still = _make_test(tables), _make_test(())
        self.factor = factor
        self.rows = None if rows is None else rows.astype("float32")[:, None]

    def hold_still(self, variables: Sequence[keras.Variable]) -> None:
        """Move some variables no more. They keep their state, whose number JAX and checkpoints count on."""
        self.is_still = _make_test(variables)

    def reorder(self, orders: Sequence[tuple[keras.Variable, Integers]]) -> None:
        """Put the moments of variables that train, if there are any yet, in the order that their last axis has now."""
        for variable, order in orders if self.built else ():
            for moments in (self._momentums, self._velocities) if variable.trainable else ():
                moment = moments[self._get_variable_index(variable)]
                moment.assign(ops.take(moment, order, axis=-1))

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: Tensor) -> None:
        """Update one variable. Keras calls this, on TensorFlow with the variable's value."""
        if self.is_still(variable):
            return
        if self.is_table(variable):
            gradient = gradient if self.rows is None else ops.multiply(gradient, self.rows)
            learning_rate = learning_rate * self.factor
        super().update_step(gradient, variable, learning_rate)


def _make_test(variables):
    """Return a function that tells whether a variable, or its value, is one of some."""
    # A function: the variables of a list Keras counts as the optimizer's own, and JAX would get them twice.
    return lambda one: any(one is variable or one is variable.value for variable in variables)


class ScaledLoss(keras.optimizers.LossScaleOptimizer):
    """An optimizer of a scaled loss that keeps its scale, because Keras makes the variables anew at every build."""

    def build(self, var_list: Sequence[keras.Variable]) -> None:
        if not self.built:  # type: ignore[has-type]
            super().build(var_list)
            self.built = True

    def count_skipped(self, steps: int) -> int:
        """Return how many of the steps so far moved nothing, because their gradients overflowed."""
        # Of each gradient: the public number counts means of several.
        return steps - int(self.inner_optimizer._iterations)


def make_adam(
    learning_rate: float,
    parts: int = 1,
    schedule: TableSchedule | None = None,
    tables: Sequence[keras.Variable] = (),
    scaled: bool = False,
) -> keras.optimizers.Optimizer:
    """Make Adam over the mean of several gradients per step.

    A scaled loss is one times a factor, by which the gradients are divided again. If they overflow, the factor is
    halved and the step moves nothing. Micikevicius et al. (2018), section 3.2.
    """
    schedule = schedule or TableSchedule()
    if schedule.rate or schedule.rows is not None or schedule.settles:
        factor = schedule.rate / learning_rate if schedule.rate else 1.0
        optimizer = TableAdam(learning_rate, factor, tables, parts, schedule.rows)
    else:
        optimizer = FusedAdam(learning_rate, gradient_accumulation_steps=parts if parts > 1 else None)
    return ScaledLoss(optimizer) if scaled else optimizer


@dataclass(frozen=True)
class LearningRateSchedule:
    """The learning rate of each step of a training. Devlin et al. (2019), BERT, appendix A.2.

    Of n steps the first w = `warmup` n rise evenly, step t to `peak` t / w. Step t after them has
    `peak` (n - t + 1) / (n - w) with `linear`, and else the loop's own rate.
    """

    peak: float
    epochs: int
    linear: bool = False
    warmup: float = 0.0

    def at(self, epoch: int, taken: int, steps: int) -> float | None:
        """Return the learning rate of a step, or None for the loop's own. `epoch` is the epoch, from 1."""
        step, total = (epoch - 1) * steps + taken + 1, self.epochs * steps
        rising = round(self.warmup * total)
        if step <= rising:
            return self.peak * step / rising
        return self.peak * (total - step + 1) / (total - rising) if self.linear else None
