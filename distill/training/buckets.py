"""Round batches to few shapes, because XLA compiles a program for each and packed texts differ from step to step."""

from __future__ import annotations

import math

import numpy as np

from ..encoders.batching import PAD, round_length
from .batches import StepInput

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
