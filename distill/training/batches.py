"""Functions that make the batch of a step and name the questions in it; a thread makes the next batch ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..data.dataset import Question

# The arrays of a step by name: packed ids, labels, indices.
StepInput: TypeAlias = dict[str, NDArray[np.generic]]

# Makes the batch of a step.
Make: TypeAlias = Callable[[], StepInput]
# Questions that a message names.
NAMED = 8


@dataclass(frozen=True)
class BatchMaker:
    """A function that makes a step's batch, so that an epoch's batches need not all be held.

    Attributes:
        make: Makes the batch.
        ids: Names its questions.
        loss: The loss that the step minimises, in words.
        ahead: Whether the batch depends on nothing that a step changes, so that it may be made while the previous step
            is computed.
    """

    make: Make
    ids: Callable[[], list[str]]
    loss: str
    ahead: bool = False

    def __call__(self) -> StepInput:
        """The batch."""
        return self.make()


@contextmanager
def make_ahead(makers: Sequence[Make], shaped: Callable[[StepInput], StepInput] = dict) -> Iterator[Make]:
    """Provide a function that returns one batch after another, while a thread makes the next one.

    Args:
        makers: The functions that make the batches. Those that must not run ahead are called when they are due.
    """
    with ThreadPoolExecutor(1) as pool:
        yield partial(next, _make_in_order(makers, shaped, pool))


def _make_in_order(makers, shaped, pool):
    coming = None
    for place, make in enumerate(makers):
        batch = coming.result() if coming else shaped(make())
        following = makers[place + 1] if place + 1 < len(makers) else None
        ahead = isinstance(following, BatchMaker) and following.ahead
        coming = pool.submit(lambda make=following: shaped(make())) if ahead else None
        yield batch


def name_questions(questions: Iterable[Question]) -> list[str]:
    """Return the name of each question, with its language."""
    return [f"{question.language} {question.id}" for question in questions]


def divergence_message(stage: str, make: Make, loss: float, place: str, learning_rate: float) -> str:
    """Write the error message for a loss that is not a finite number.

    Args:
        make: The function that made the batch; a `BatchMaker` names the questions.
    """
    which, whose = (
        (make.loss, f"; its questions: {shorten_list(make.ids())}") if isinstance(make, BatchMaker) else ("loss", "")
    )
    return (
        f"{stage}: the {which} is {loss} at {place}, learning rate {learning_rate:g}{whose}; try a lower learning "
        "rate, float32 where precision is mixed, and look at these texts"
    )


def shorten_list(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
