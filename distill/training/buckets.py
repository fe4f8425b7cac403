"""Batches of few shapes: XLA compiles a program for each, and packed texts differ from step to step."""

from __future__ import annotations

import math

import numpy as np

from ..encoders.batching import PACKED, PAD
from .batches import StepInput

# Of the packed texts, and with two encoders of the passages'.
PREFIXES = ("", "passage_")


def few_shapes(batch: StepInput, devices: int = 1) -> StepInput:
    """A trainer's batch with its sizes rounded up, t to a multiple of `devices` too; the loss is the same.

    What is added are paddings, texts without a token behind the others, and documents that weigh nothing.
    """
    sizes = {prefix: len(batch[f"{prefix}counts"]) for prefix in PREFIXES if f"{prefix}counts" in batch}
    more = [power(size) - size for size in sizes.values()]
    rounded = dict(batch)
    for prefix in sizes:
        rounded |= _texts(batch, prefix, devices)
    if "live" in batch:
        rounded |= _part(batch, np.repeat(np.cumsum([*sizes.values()]), more))
    elif len(sizes) > 1:
        rounded |= {name: _behind(batch[name], sizes[""], more[0]) for name in ("question", "passage")}
    if "document" in batch:
        rounded |= _documents(batch["document"], batch["teacher_document"])
    return rounded


def power(size: int) -> int:
    """The least power of two that is not below `size`."""
    return 1 << (size - 1).bit_length()


def bucket(size: int, multiple: int) -> int:
    """`size` rounded up to one of four sizes an octave, each a multiple of `multiple`."""
    step = -(-(power(size) // 8) // multiple) * multiple or multiple
    return -(-size // step) * step


def _texts(batch, prefix, devices):
    ids, segments, counts, pieces = (batch[prefix + name] for name in PACKED)
    # Ids in rows of a width are fewer.
    multiple = math.lcm(max(1, 256 // ids[0].size), devices)
    size, texts = bucket(len(ids), multiple), power(len(counts)) - len(counts)
    # So many that the number of tokens says it, but for texts that seldom say a piece twice.
    rows = max(power(len(pieces)), power(size * ids[0].size) // 2)
    return {
        f"{prefix}ids": _longer(ids, size - len(ids), PAD),
        f"{prefix}segments": _longer(segments, size - len(ids), segments[-1]),
        # A text is divided by the root of its count.
        f"{prefix}counts": _longer(counts, texts, 1),
        # The first of equal ones is looked up.
        f"{prefix}pieces": _longer(pieces, rows - len(pieces), pieces[-1]),
    }


def _part(batch, places):
    """Of `SampledSoftmax`' parts: texts added at `places` have rows of `cached` of their own, which nobody reads."""
    rows = len(batch["cached"])
    spare = np.arange(rows, rows + len(places), dtype=batch["live"].dtype)
    return {
        "live": np.insert(batch["live"], places, spare),
        "counted": np.insert(batch["counted"], places, 0, axis=0),
        "cached": _longer(batch["cached"], power(rows + len(places)) - rows, 0),
    }


def _behind(index, first, more):
    """Rows from `first` on, of passages, now come after so many `more`."""
    return np.where(index >= first, index + more, index).astype(index.dtype)


def _documents(index, labels):
    """Also `document_weights` `(m,)`, with which the mean over the rows is that of those that count."""
    size, more = len(index), power(len(index)) - len(index)
    weights = np.full(size, (size + more) / size, dtype=np.float32)
    return {
        "document": _longer(index, more, 0),
        "teacher_document": _longer(labels, more, 0),
        "document_weights": _longer(weights, more, 0),
    }


def _longer(array, more, value):
    filling = np.full((more, *array.shape[1:]), value, dtype=array.dtype)
    return np.concatenate([array, filling])
