"""Steps whose losses are still on the device: whoever reads each loss has the host wait for each step."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from ..errors import TrainingError
from .batches import Make, StepInput, diverged
from .trained import UNREAD, Trained

# Where steps are slow their losses are read, and shown, as they come.
SECONDS = 1.0


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
