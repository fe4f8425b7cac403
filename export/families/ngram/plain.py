"""An n-gram student in `encoder.bin`, the file of the programs in C and Java: its settings and its vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....system.types import Floats
from ...c.reference import Layers, flatten, stack_windows, to_unit_length
from ...tflite.graph import Graph
from ...tflite.weights import Parts

# The family's name and its number in the file.
FAMILY, NUMBER = "ngram", 1


def numbers_of(parts: Parts) -> list[int]:
    """Return the end of the file's settings: 0 for no window of the rows, the number of branches and their orders."""
    return [0, len(parts.orders), *parts.orders]


def sections_of(graph: Graph, parts: Parts) -> dict[str, np.ndarray]:
    """Return the sections other than those of the table and the dense layers."""
    return flatten(parts.vectors)


def vector_of(x: Floats, layers: Layers, numbers: Sequence[int]) -> Floats:
    """Compute the unit vector `(d,)` of a text from its rows of the table, float32 `(t, w)`."""
    _, number, *orders = numbers
    branches = [_branch(x, layers, f"branch{place}", order) for place, order in enumerate(orders[:number])]
    rows = layers.dense("factor", x) if "factor" in layers else x
    features = layers.norm("norm", np.concatenate([rows, *branches], axis=1))
    summed, count = features.sum(axis=0, keepdims=True), np.float32(len(x))
    x = (layers.dense("pooling", summed) + count * layers.vector("pooling.offset")) / np.sqrt(count)
    first, skip = np.split(x, 2, axis=1)
    hidden = np.maximum(skip + layers.dense("second", np.maximum(first, 0)), 0)
    x = np.tanh(layers.dense("fourth_skip", hidden) + layers.dense("fourth", layers.dense("third", hidden, relu=True)))
    if "projection" in layers:
        x = layers.dense("projection", x)
    if "projection.down" in layers:
        x = x - layers.dense("projection.up", layers.dense("projection.down", x))
    return to_unit_length(x)[0]


def _branch(x, layers, name, order):
    x = layers.norm(f"{name}.norm", layers.dense(f"{name}.project", x))
    for part in ("first", "second"):
        if f"{name}.{part}" in layers:
            x = x + layers.dense(f"{name}.{part}", stack_windows(x, order), relu=True)
    return x
