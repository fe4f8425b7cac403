"""A model under training around another, the encoder, whose weights are kept: the loop trains it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import keras

from ..system.types import Model


class Trained(keras.Model):
    """The base of what `loop.fit` trains: `encoder` has the weights that are kept; `parts` batches make a step.

    By itself it computes with its weights as they are, `quantised` or not.
    """

    encoder: Model
    parts = 1
    quantised = False

    def quantise(self, on: bool = True) -> None:
        """Compute with rounded weights from the next step on, where there are such."""

    def as_shipped(self) -> AbstractContextManager[Model | None]:
        """A context in which `encoder` has the weights that steps compute with."""
        return nullcontext()
