"""Learning rates: of the table apart from the rest, and over the steps of a training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import keras

from ..system.types import Tensor


class TableAdam(keras.optimizers.Adam):
    """Adam that moves `tables`, Keras variables, `factor` times as fast as the rest.

    A gradient times a factor would change nothing: Adam divides by its size. The factor stays when the learning rate
    changes, and there is no further state, so a checkpoint of it is one of Adam.
    """

    def __init__(self, learning_rate: float, factor: float, tables: Sequence[keras.Variable], parts: int = 1):
        super().__init__(learning_rate, gradient_accumulation_steps=parts if parts > 1 else None)
        self.factor, self.tables = factor, list(tables)

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: Tensor) -> None:
        """One variable's step. Keras calls it, on TensorFlow with what the variable holds."""
        is_table = any(variable is table or variable is table.value for table in self.tables)
        super().update_step(gradient, variable, learning_rate * self.factor if is_table else learning_rate)


def adam(
    learning_rate: float, parts: int = 1, table_rate: float = 0.0, tables: Sequence[keras.Variable] = ()
) -> keras.optimizers.Adam:
    """Adam over the mean of `parts` gradients a step; with `table_rate` that is the learning rate of `tables`."""
    if table_rate:
        return TableAdam(learning_rate, table_rate / learning_rate, tables, parts)
    return keras.optimizers.Adam(learning_rate, gradient_accumulation_steps=parts if parts > 1 else None)


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
