"""A model under training around another, the encoder, whose weights are kept: the loop trains it.

The losses of its steps stay on the device for a while: whoever reads each has the host wait for each step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import keras
from keras import ops

from ..errors import TrainingError
from ..system.types import Model, Tensor
from .batches import Make, StepInput, diverged

# Losses that are on the device at most before the loop reads them; where steps are slow they are read, and shown, as
# they come.
UNREAD, SECONDS = 16, 1.0


class StepLosses(keras.metrics.Metric):
    """The losses of the last `UNREAD` steps, `(UNREAD,)`, the last one last.

    They stay on the device, which computes on while nobody asks; who reads the loss of each step waits for each.
    """

    def __init__(self) -> None:
        super().__init__(name="step_losses")
        self.values = self.add_weight(shape=(UNREAD,), initializer="zeros", name="values")

    def update_state(self, loss: Tensor) -> None:
        """Add that of a step."""
        self.values.assign(ops.append(self.values[1:], loss))

    def result(self) -> Tensor:
        """All of them."""
        return ops.convert_to_tensor(self.values)

    def reset_state(self) -> None:
        """Keep them: Keras resets what it counts before each step."""


class Trained(keras.Model):
    """The base of what `loop.fit` trains: `encoder` has the weights that are kept; `parts` batches make a step.

    By itself it computes with its weights as they are, `quantised` or not.
    """

    encoder: Model
    parts = 1
    quantised = False

    def __init__(self) -> None:
        super().__init__()
        self.step_losses = StepLosses()

    def shaped(self, batch: StepInput) -> StepInput:
        """A batch as steps take it; a thread may ask for it."""
        return batch

    def take_step(self, shaped: StepInput) -> None:
        """One step, or one of its parts, whose loss is not waited for."""
        super().train_on_batch(shaped)

    def last_losses(self, many: int) -> list[float]:
        """Those of the last `many` steps, at most `UNREAD`."""
        return ops.convert_to_numpy(self.step_losses.values)[UNREAD - many :].tolist()

    def train_on_batch(self, x: StepInput) -> float:
        """One step, or one of its parts; returns the loss."""
        self.take_step(self.shaped(x))
        return self.last_losses(1)[0]

    def compute_metrics(
        self, x: Mapping[str, Tensor], y: None, y_pred: Tensor, sample_weight: None = None
    ) -> dict[str, Tensor]:
        """Nothing, as Keras reads what this gives after each step; the loss is added to `step_losses`."""
        self.step_losses.update_state(super().compute_metrics(x, y, y_pred, sample_weight)["loss"])
        return {}

    def quantise(self, on: bool = True) -> None:
        """Compute with rounded weights from the next step on, where there are such."""

    def as_shipped(self) -> AbstractContextManager[Model | None]:
        """A context in which `encoder` has the weights that steps compute with."""
        return nullcontext()


@dataclass
class UnreadLosses:
    """The steps of a `stage` since the losses were read: what made each, its place in words, its learning rate."""

    trainer: Trained
    stage: str
    steps: list[tuple[Make, str, float | None]] = field(default_factory=list)
    read_at: float = field(default_factory=time.monotonic)

    @property
    def due(self) -> bool:
        """True where they are to be read before the next step."""
        return len(self.steps) == UNREAD or time.monotonic() - self.read_at >= SECONDS

    def take_step(self, batch: StepInput, make: Make, place: str, rate: float | None) -> None:
        """Take a step; `rate` is its learning rate, None for that which the optimizer has until losses are read."""
        self.trainer.take_step(batch)
        self.steps.append((make, place, rate))

    def read(self) -> list[float]:
        """The losses of these steps. Raises `TrainingError` for the first that is no finite number."""
        losses = self.trainer.last_losses(len(self.steps)) if self.steps else []
        for loss, (make, place, rate) in zip(losses, self.steps, strict=True):
            if not math.isfinite(loss):
                pace = float(self.trainer.optimizer.learning_rate) if rate is None else rate
                raise TrainingError(diverged(self.stage, make, loss, place, pace))
        self.steps, self.read_at = [], time.monotonic()
        return losses
