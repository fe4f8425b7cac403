"""Functions that make the batch of a step and name the questions in it; a thread makes the next batch ahead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..data.dataset import Question
from ..encoders.batching import PAD, round_length

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


# Of the packed texts, and with two encoders of the passages'.
PREFIXES = ("", "passage_")


def round_shapes(batch: StepInput, devices: int = 1) -> StepInput:
    """Round the sizes of a trainer's batch up; the loss stays the same.

    Paddings, empty texts after the others, and documents of weight 0 are added.

    Args:
        devices: The number of devices, of which the number of tokens becomes a multiple.
    """
    sizes = {prefix: len(batch[f"{prefix}counts"]) for prefix in PREFIXES if f"{prefix}counts" in batch}
    more = [next_power(size) - size for size in sizes.values()]
    shapes = dict(batch)
    for prefix in sizes:
        shapes |= _texts(batch, prefix, devices)
    if "live" in batch:
        shapes |= _pad_part(batch, np.repeat(np.cumsum([*sizes.values()]), more))
    elif len(sizes) > 1:
        shapes |= {name: _shift_rows(batch[name], sizes[""], more[0]) for name in ("question", "passage")}
    if "document" in batch:
        shapes |= _pad_documents(batch["document"], batch["teacher_document"])
    return shapes


def next_power(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << (size - 1).bit_length()


def round_up(size: int, multiple: int, sizes: int = 4) -> int:
    """Round a size up to one of a few sizes per octave.

    Args:
        sizes: The number of sizes per octave, 4 or 2.
    """
    step = -(-(next_power(size) // (2 * sizes)) // multiple) * multiple or multiple
    return -(-size // step) * step


def _texts(batch, prefix, devices):
    counts, pieces = batch[f"{prefix}counts"], batch[f"{prefix}pieces"]
    texts, last = next_power(len(counts)) - len(counts), len(counts) - 1
    of_tokens = _pad_tokens(batch, prefix, last, devices)
    if f"{prefix}long_ids" in batch:
        of_tokens |= _pad_tokens(batch, f"{prefix}long_", last, devices)
    tokens = sum(array.size for array in of_tokens.values()) // 2
    # So many that the number of tokens says it, but for texts that seldom say a piece twice.
    rows = max(next_power(len(pieces)), next_power(tokens) // 2)
    return {
        **of_tokens,
        # A text is divided by the root of its count.
        f"{prefix}counts": _longer(counts, texts, 1),
        # The first of equal ones is looked up.
        f"{prefix}pieces": _longer(pieces, rows - len(pieces), pieces[-1]),
    }


def _pad_tokens(batch, group, last, devices):
    """Pad the ids and segments whose names begin with `group`; the paddings belong to the text `last`."""
    ids, long = batch[f"{group}ids"], group.endswith("long_")
    width = math.prod(ids.shape[1:])
    # Ids in rows of a width are fewer. Rows of long texts are of many widths, and a small part of all.
    multiple = math.lcm(max(1, 256 // width), devices)
    more = round_up(len(ids), multiple, 2 if long else 4) - len(ids)
    paddings = [(0, more), *((0, round_length(width, few=True) - width if long else 0) for _ in ids.shape[1:])]
    values = {f"{group}ids": PAD, f"{group}segments": last}
    return {name: np.pad(batch[name], paddings, constant_values=value) for name, value in values.items()}


def _pad_part(batch, places):
    """Pad the arrays of one of `SampledSoftmax`' parts; added texts get unused rows of `cached`."""
    rows = len(batch["cached"])
    spare = np.arange(rows, rows + len(places), dtype=batch["live"].dtype)
    return {
        "live": np.insert(batch["live"], places, spare),
        "counted": np.insert(batch["counted"], places, 0, axis=0),
        "cached": _longer(batch["cached"], next_power(rows + len(places)) - rows, 0),
    }


def _shift_rows(index, first, more):
    """Shift the rows of passages, from `first` on, by the number of added texts."""
    return np.where(index >= first, index + more, index).astype(index.dtype)


def _pad_documents(index, labels):
    """Pad the labels of documents, and add `document_weights` `(m,)`, which make the mean that of the real ones."""
    size, more = len(index), next_power(len(index)) - len(index)
    weights = np.full(size, (size + more) / size, dtype=np.float32)
    return {
        "document": _longer(index, more, 0),
        "teacher_document": _longer(labels, more, 0),
        "document_weights": _longer(weights, more, 0),
    }


def _longer(array, more, value):
    filling = np.full((more, *array.shape[1:]), value, dtype=array.dtype)
    return np.concatenate([array, filling])
