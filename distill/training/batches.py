"""What makes a step's batch, and can say what the batch is of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# The arrays of a step by name: packed ids, labels, indices.
StepInput: TypeAlias = dict[str, NDArray[np.generic]]

# Questions that a message names.
NAMED = 8


@dataclass(frozen=True)
class Maker:
    """Called, it makes a step's batch: an epoch's batches are not all held. `ids()` names its questions, `[str]`.

    `loss` is what the step minimises, in words.
    """

    make: Callable
    asked: Callable
    loss: str

    def __call__(self):
        return self.make()

    def ids(self):
        return self.asked()


def named(questions):
    """`[str]`, each question with its language."""
    return [f"{question.language} {question.id}" for question in questions]


def line_name(source, row, text):
    """A line of texts: which one, from 1, among those that were taken, and how it begins; `row` counts from 0."""
    return f"{source} {row + 1} ({text[:30]!r})"


def diverged(stage, make, loss, place, learning_rate):
    """What to say of a `loss` that is no finite number, at a `place` in the training; `make` need not be a `Maker`."""
    which, asked = (make.loss, f"; its questions: {listed(make.ids())}") if isinstance(make, Maker) else ("loss", "")
    return (
        f"{stage}: the {which} is {loss} at {place}, learning rate {learning_rate:g}{asked}; try a lower learning "
        "rate, float32 where precision is mixed, and look at these texts"
    )


def listed(names):
    """The first of them, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
