"""Make the batches of a step, a thread the next one ahead, in few shapes where each one is compiled."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..data.dataset import Question
from ..encoders.batching import PAD

# The arrays of a step by name: packed ids, labels, indices.
StepInput: TypeAlias = dict[str, NDArray[np.generic]]

# Makes the batch of a step.
Make: TypeAlias = Callable[[], StepInput]
# Questions that a message names.
NAMED = 8


@dataclass(frozen=True)
class BatchMaker:
    """A function that makes a step's batch, so that an epoch's batches need not all be held.

    A batch that depends on nothing that a step changes may be made `ahead`, while the previous step is computed.
    """

    make: Make
    ids: Callable[[], list[str]]
    loss: str
    ahead: bool = False

    def __call__(self) -> StepInput:
        return self.make()


@contextmanager
def make_ahead(makers: Sequence[Make], shaped: Callable[[StepInput], StepInput] = dict) -> Iterator[Make]:
    """Provide a function that returns one batch after another, while a thread makes the next one."""
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
    """Write the error message for a loss that is not a finite number."""
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
# The sizes of a batch that paddings change, by name.
Sizes: TypeAlias = dict[str, int]

# What is added to the first shape: to one that was seen in a sample of batches, and to that of a single batch.
OF_SAMPLE, OF_ONE = 1.03, 1.125
# A size that does not hold a batch grows at least so much.
GROWTH = 1.5


class State(TypedDict):
    """The shapes of a checkpoint: the planned sizes by widths, and the used ones with their widths and other axes."""

    planned: dict[str, Sizes]
    used: list[tuple[str, str, Sizes]]


@dataclass
class Shapes:
    """The shapes that the batches of a training take, by the widths of their rows and their other axes.

    They are saved with a checkpoint, as a sum over paddings may be rounded otherwise. `devices` is the number of
    devices, of which the number of tokens becomes a multiple. `used` is the shapes so far: widths, other axes, sizes.
    """

    devices: int = 1
    planned: dict[str, Sizes] = field(default_factory=dict)
    used: list[tuple[str, str, Sizes]] = field(default_factory=list)

    def plan(self, batches: Iterable[StepInput]) -> None:
        """Take the largest sizes of some batches for the first shapes."""
        for batch in batches:
            widths, sizes = name_widths(batch), measure_sizes(batch)
            self.planned[widths] = take_larger(sizes, self.planned.get(widths, sizes))

    def fit(self, batch: StepInput) -> StepInput:
        """Pad a batch to one of the shapes; the loss stays the same.

        Paddings, empty texts after the others, and documents of weight 0 are added.
        """
        return pad_batch(batch, self.find(batch))

    def find(self, batch: StepInput) -> Sizes:
        """Return the sizes that a batch gets: the first ones that hold it, of batches like it if there are any."""
        widths, others, needed = name_widths(batch), name_others(batch), measure_sizes(batch)
        alike = [(other, sizes) for width, other, sizes in self.used if width == widths]
        for fits in (lambda other: other == others, lambda other: True):
            for other, sizes in alike:
                if fits(other) and holds(sizes, needed):
                    self.use(widths, others, sizes)
                    return sizes
        sizes = self.grow(batch, needed, alike[-1][1]) if alike else self.begin(batch, widths, needed)
        self.use(widths, others, sizes)
        return sizes

    def use(self, widths: str, others: str, sizes: Sizes) -> None:
        """Add a shape to the used ones, unless it is one of them."""
        if (widths, others, sizes) not in self.used:
            self.used.append((widths, others, sizes))

    def begin(self, batch: StepInput, widths: str, needed: Sizes) -> Sizes:
        planned = self.planned.get(widths)
        larger, factor = (take_larger(planned, needed), OF_SAMPLE) if planned else (needed, OF_ONE)
        return {name: self.round(batch, name, size * factor) for name, size in larger.items()}

    def grow(self, batch: StepInput, needed: Sizes, last: Sizes) -> Sizes:
        """Return larger sizes than the last ones, where they do not hold a batch."""
        larger = {name: max(size * OF_ONE, last[name] * GROWTH) for name, size in needed.items()}
        return {
            name: last[name] if size <= last[name] else self.round(batch, name, larger[name])
            for name, size in needed.items()
        }

    def round(self, batch: StepInput, name: str, size: float) -> int:
        """Round a size up. What costs little becomes a power of two, and what a step computes a multiple."""
        if not name.endswith(("rows", "long")):
            return next_power(int(size))
        of_ids = name.replace("rows", "ids").replace("long", "long_ids")
        # Ids in rows of a width are fewer.
        least = 1 if name.endswith("long") else max(1, 256 // math.prod(batch[of_ids].shape[1:]))
        multiple = math.lcm(least, self.devices)
        # Not up: a row of long texts is many tokens.
        return max(1, -(-int(size) // multiple)) * multiple

    def state(self) -> State:
        return {"planned": {**self.planned}, "used": [*self.used]}

    def restore(self, state: State) -> None:
        """Take over the shapes of a checkpoint."""
        self.planned = {**state["planned"]}
        self.used = [(widths, others, sizes) for widths, others, sizes in state["used"]]


def measure_sizes(batch: StepInput) -> Sizes:
    """Return the sizes of a batch that paddings may change: texts, distinct pieces, rows of ids, documents."""
    arrays = {"counts": "texts", "pieces": "pieces", "ids": "rows", "long_ids": "long"}
    sizes = {
        prefix + name: len(batch[prefix + array])
        for prefix in PREFIXES
        for array, name in arrays.items()
        if prefix + array in batch
    }
    of_batch = {"document": "documents", "cached": "cached"}
    return sizes | {name: len(batch[array]) for array, name in of_batch.items() if array in batch}


def name_widths(batch: StepInput) -> str:
    """Return a text that says which sizes a batch has, and the widths of its rows."""
    return json.dumps({name: batch[name].shape[1:] for name in sorted(batch) if name.endswith("ids")})


def name_others(batch: StepInput) -> str:
    """Return a text of the other arrays' shapes, which no padding changes."""
    padded = ("document", "teacher_document", "live", "counted", "cached")
    packed = ("ids", "segments", "counts", "pieces")
    return json.dumps({n: batch[n].shape for n in sorted(batch) if n not in padded and not n.endswith(packed)})


def take_larger(sizes: Sizes, others: Sizes) -> Sizes:
    return {name: max(size, others[name]) for name, size in sizes.items()}


def holds(sizes: Sizes, needed: Sizes) -> bool:
    """Return True if no size is too small."""
    return all(size <= sizes[name] for name, size in needed.items())


def pad_batch(batch: StepInput, sizes: Sizes) -> StepInput:
    """Pad a batch to sizes that hold it."""
    texts = {prefix: len(batch[f"{prefix}counts"]) for prefix in PREFIXES if f"{prefix}counts" in batch}
    more = [sizes[f"{prefix}texts"] - count for prefix, count in texts.items()]
    shapes = dict(batch)
    for prefix in texts:
        shapes |= _pad_texts(batch, prefix, sizes)
    if "live" in batch:
        shapes |= _pad_part(batch, np.repeat(np.cumsum([*texts.values()]), more), sizes["cached"])
    elif len(texts) > 1:
        shapes |= {name: _shift_rows(batch[name], texts[""], more[0]) for name in ("question", "passage")}
    if "document" in batch:
        shapes |= _pad_documents(batch["document"], batch["teacher_document"], sizes["documents"])
    return shapes


def next_power(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << max(0, size - 1).bit_length()


def _pad_texts(batch, prefix, sizes):
    counts, pieces = batch[f"{prefix}counts"], batch[f"{prefix}pieces"]
    padded = {
        # A text is divided by the root of its count.
        f"{prefix}counts": _lengthen(counts, sizes[f"{prefix}texts"], 1),
        # The first of equal ones is looked up.
        f"{prefix}pieces": _lengthen(pieces, sizes[f"{prefix}pieces"], pieces[-1]),
    }
    for group, name in (("", "rows"), ("long_", "long")):
        if f"{prefix}{group}ids" in batch:
            # The paddings belong to the last text.
            for array, value in (("ids", PAD), ("segments", len(counts) - 1)):
                rows = batch[f"{prefix}{group}{array}"]
                padded[f"{prefix}{group}{array}"] = _lengthen(rows, sizes[f"{prefix}{name}"], value)
    return padded


def _pad_part(batch, places, cached):
    """Pad the arrays of one of `SampledSoftmax`' parts; added texts get unused rows of `cached`."""
    rows = len(batch["cached"])
    spare = np.arange(rows, rows + len(places), dtype=batch["live"].dtype)
    texts = len(batch["live"]) + len(places)
    return {
        "live": np.insert(batch["live"], places, spare),
        "counted": np.insert(batch["counted"], places, 0, axis=0),
        # So many that each added text has a row of its own.
        "cached": _lengthen(batch["cached"], cached + texts, 0),
    }


def _shift_rows(index, first, more):
    """Shift the rows of passages, from `first` on, by the number of added texts."""
    return np.where(index >= first, index + more, index).astype(index.dtype)


def _pad_documents(index, labels, size):
    """Pad the labels of documents, and add `document_weights` `(m,)`, which make the mean that of the real ones."""
    weights = np.full(len(index), size / max(1, len(index)), dtype=np.float32)
    return {
        "document": _lengthen(index, size, 0),
        "teacher_document": _lengthen(labels, size, 0),
        "document_weights": _lengthen(weights, size, 0),
    }


def _lengthen(array, size, value):
    """Fill an array up to a length."""
    longer = np.full((size, *array.shape[1:]), value, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
