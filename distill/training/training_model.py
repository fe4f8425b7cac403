"""The base of models that the loop trains, built around an encoder whose weights are kept.

The losses of steps stay on the device for a while, because the host waits for a step when it reads its loss.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import keras
from keras import ops

from ..errors import TrainingError
from ..system.types import Floats, Model, Tensor
from .batches import BatchMaker, Make, Shapes, StepInput, divergence_message

# Losses that are on the device at most before the loop reads them; where steps are slow they are read, and shown, as
# they come.
UNREAD, SECONDS = 16, 1.0
# Batches of an epoch by which its shapes are planned.
PLANNED = 24


class StepLosses(keras.metrics.Metric):
    """The losses of the last `UNREAD` steps and their `terms`, `(UNREAD, 1 + terms)`, the newest last.

    They stay on the device, which goes on computing until they are read.
    """

    def __init__(self, terms: int = 0) -> None:
        super().__init__(name="step_losses")
        self.values = self.add_weight(shape=(UNREAD, 1 + terms), initializer="zeros", name="values")

    def update_state(self, losses: Sequence[Tensor]) -> None:
        """Add the loss of a step, and its terms."""
        row = ops.stack([ops.cast(loss, self.values.dtype) for loss in losses])
        self.values.assign(ops.concatenate([self.values[1:], row[None]]))

    def result(self) -> Tensor:
        return ops.convert_to_tensor(self.values)

    def reset_state(self) -> None:
        """Do nothing, because Keras resets metrics before each step."""


class TrainedModel(keras.Model):
    """The base of models that `loop.fit` trains.

    `encoder` has the weights that are kept, `parts` batches make a step, and `terms` are the names of the parts of its
    loss. `shapes` are those of its batches if XLA compiles a program for each, or else None. This base computes with
    its weights as they are, quantised or not.
    """

    encoder: Model
    shapes: Shapes | None = None
    parts = 1
    quantised = False

    def __init__(self, terms: Sequence[str] = ()) -> None:
        super().__init__()
        self.terms = tuple(terms)
        self.step_losses = StepLosses(len(self.terms))

    def compute_terms(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the terms of a batch's loss, whose sum it is: scalars under the names of `terms`, or one in all."""
        raise NotImplementedError

    def compute_loss(
        self,
        x: Mapping[str, Tensor] | None = None,
        y: None = None,
        y_pred: Tensor = None,
        sample_weight: None = None,
        training: bool = True,
    ) -> Tensor:
        """Return the loss of a batch `x` whose vectors are `y_pred`; Keras calls it, without labels and weights."""
        # PyTorch's trainer hands the batch over as NumPy arrays.
        terms = self.compute_terms(y_pred, {name: ops.convert_to_tensor(value) for name, value in (x or {}).items()})
        loss = sum(terms.values())
        # A variable: JAX's gradient lets nothing else out of here.
        self.step_losses.update_state([loss, *(terms[name] for name in self.terms)])
        return loss

    def shape_batch(self, batch: StepInput) -> StepInput:
        """Return a batch in the shape that steps take: one of few if XLA compiles them. A thread may call this."""
        return self.shapes.fit(batch) if self.shapes else batch

    def plan_shapes(self, makers: Sequence[Make]) -> None:
        """Plan the shapes by some batches of an epoch, once; the last batch of an epoch is smaller than the others."""
        if self.shapes and not self.shapes.planned:
            ready = [make for make in makers[: max(1, len(makers) - 1)] if isinstance(make, BatchMaker) and make.ahead]
            self.shapes.plan(make() for make in ready[:: max(1, -(-len(ready) // PLANNED))])

    def take_step(self, shaped: StepInput) -> None:
        """Take one step, or one of its parts, without waiting for its loss."""
        super().train_on_batch(shaped)

    def last_losses(self, count: int) -> list[list[float]]:
        """Return the losses of the last `count` steps, at most `UNREAD`, each followed by its terms."""
        return ops.convert_to_numpy(self.step_losses.values)[UNREAD - count :].tolist()

    def train_on_batch(self, x: StepInput) -> float:
        """Take one step, or one of its parts, and return the loss."""
        self.take_step(self.shape_batch(x))
        return self.last_losses(1)[0][0]

    def compute_metrics(
        self, x: Mapping[str, Tensor], y: None, y_pred: Tensor, sample_weight: None = None
    ) -> dict[str, Tensor]:
        """Return nothing, because Keras reads the result after each step; the loss is in `step_losses`."""
        return {}

    def get_kept_weights(self) -> list[Floats]:
        """Return the weights that are kept: those of the encoder, and what trains beside them."""
        return self.encoder.get_weights()

    def set_kept_weights(self, weights: Sequence[Floats]) -> None:
        """Take over the weights that `get_kept_weights` returned."""
        self.encoder.set_weights(weights)

    def quantise(self, on: bool = True) -> None:
        """Compute with rounded weights from the next step on, if there are any."""

    def as_shipped(self) -> AbstractContextManager[Model | None]:
        """Return a context in which `encoder` has the weights that steps compute with."""
        return nullcontext()


@dataclass
class UnreadLosses:
    """The steps of a stage since losses were last read: each batch's maker, its place in words, its learning rate."""

    trainer: TrainedModel
    stage: str
    steps: list[tuple[Make, str, float | None]] = field(default_factory=list)
    read_at: float = field(default_factory=time.monotonic)

    @property
    def due(self) -> bool:
        """True if the losses have to be read before the next step."""
        return len(self.steps) == UNREAD or time.monotonic() - self.read_at >= SECONDS

    def add(self, make: Make, place: str, rate: float | None) -> None:
        """Add a step that was taken; a `rate` of None is the one that the optimizer has until losses are read."""
        self.steps.append((make, place, rate))

    def read(self) -> list[list[float]]:
        """Return the losses of these steps, each followed by its terms. Raises `TrainingError` for the first that is
        not a finite number.
        """
        losses = self.trainer.last_losses(len(self.steps)) if self.steps else []
        for (loss, *_), (make, place, rate) in zip(losses, self.steps, strict=True):
            if not math.isfinite(loss):
                used = float(self.trainer.optimizer.learning_rate) if rate is None else rate
                raise TrainingError(divergence_message(self.stage, make, loss, place, used))
        self.steps, self.read_at = [], time.monotonic()
        return losses
