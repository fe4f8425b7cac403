"""Learning rates: of the table apart from the rest, and over the steps of a training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import keras
from keras import ops

from ..system.types import Booleans, Tensor


@dataclass(frozen=True)
class TablePace:
    """How an embedding table is trained: its learning `rate`, 0 for that of the rest, and its `rows` that alone move.

    `rows`, bool `(vocabulary,)`, None for all; with some, no other weight of the encoder moves either.
    """

    rate: float = 0.0
    rows: Booleans | None = None


class TableAdam(keras.optimizers.Adam):
    """Adam that moves `tables`, Keras variables, `factor` times as fast as the rest, and of them `rows` alone.

    A gradient times a factor would change nothing: Adam divides by its size. One of zero moves nothing. The factor
    stays when the learning rate changes, and there is no further state, so a checkpoint of it is one of Adam.
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
        # A function: the variables of a list Keras counts as the optimizer's own, and JAX would get them twice.
        self.is_table = lambda variable: any(variable is table or variable is table.value for table in tables)
        self.factor = factor
        self.rows = None if rows is None else rows.astype("float32")[:, None]

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: Tensor) -> None:
        """One variable's step. Keras calls it, on TensorFlow with what the variable holds."""
        if self.is_table(variable):
            gradient = gradient if self.rows is None else ops.multiply(gradient, self.rows)
            learning_rate = learning_rate * self.factor
        super().update_step(gradient, variable, learning_rate)


class ScaledLoss(keras.optimizers.LossScaleOptimizer):
    """An optimizer of a scaled loss whose scale stays: Keras makes its variables anew whenever it is built again."""

    def build(self, var_list: Sequence[keras.Variable]) -> None:
        """Make the variables, once."""
        if not self.built:  # type: ignore[has-type]
            super().build(var_list)
            self.built = True


def adam(
    learning_rate: float,
    parts: int = 1,
    pace: TablePace | None = None,
    tables: Sequence[keras.Variable] = (),
    scaled: bool = False,
) -> keras.optimizers.Optimizer:
    """Adam over the mean of `parts` gradients a step; `tables` at a pace of their own.

    `scaled`: of a loss times a factor, which is taken out of the gradients again and halved where they overflow; such a
    step moves nothing. Micikevicius et al. (2018), section 3.2.
    """
    pace = pace or TablePace()
    if pace.rate or pace.rows is not None:
        factor = pace.rate / learning_rate if pace.rate else 1.0
        optimizer = TableAdam(learning_rate, factor, tables, parts, pace.rows)
    else:
        optimizer = keras.optimizers.Adam(learning_rate, gradient_accumulation_steps=parts if parts > 1 else None)
    return ScaledLoss(optimizer) if scaled else optimizer


@dataclass(frozen=True)
class Pace:
    """The learning rate of each step of a training of `epochs`: up to `peak`, and with `linear` down again.

    Of n steps the first w = `warmup` n rise evenly, step t to `peak` t / w. Step t after them has
    `peak` (n - t + 1) / (n - w) with `linear`, else the loop's own. Devlin et al. (2019), BERT, appendix A.2.
    """

    peak: float
    epochs: int
    linear: bool = False
    warmup: float = 0.0

    def at(self, epoch: int, taken: int, steps: int) -> float | None:
        """The rate of the step after the `taken` of an epoch, from 1, that has `steps`; None for the loop's own."""
        step, total = (epoch - 1) * steps + taken + 1, self.epochs * steps
        rising = round(self.warmup * total)
        if step <= rising:
            return self.peak * step / rising
        return self.peak * (total - step + 1) / (total - rising) if self.linear else None
