"""Functions that make the batch of a step, and can name the questions in it; a thread makes the next one."""

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
class Maker:
    """Called, it makes a step's batch: an epoch's batches are not all held. `ids()` names its questions, `[str]`.

    `loss` is what the step minimises, in words. `ahead`: the batch rests on nothing that a step changes, so that it may
    be made while the step before it computes.
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
    """Within it a function gives one batch after another, `shaped`; while a step computes a thread makes the next one.

    That is where its maker lets it; others are made when they are asked for.
    """
    with ThreadPoolExecutor(1) as pool:
        yield partial(next, _make_in_order(makers, shaped, pool))


def _make_in_order(makers, shaped, pool):
    coming = None
    for place, make in enumerate(makers):
        batch = coming.result() if coming else shaped(make())
        following = makers[place + 1] if place + 1 < len(makers) else None
        ahead = isinstance(following, Maker) and following.ahead
        coming = pool.submit(lambda make=following: shaped(make())) if ahead else None
        yield batch


def named(questions: Iterable[Question]) -> list[str]:
    """`[str]`, each question with its language."""
    return [f"{question.language} {question.id}" for question in questions]


def diverged(stage: str, make: Make, loss: float, place: str, learning_rate: float) -> str:
    """The message for a `loss` that is no finite number, at a `place` in the training; `make` may be a `Maker`."""
    which, whose = (make.loss, f"; its questions: {listed(make.ids())}") if isinstance(make, Maker) else ("loss", "")
    return (
        f"{stage}: the {which} is {loss} at {place}, learning rate {learning_rate:g}{whose}; try a lower learning "
        "rate, float32 where precision is mixed, and look at these texts"
    )


def listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
