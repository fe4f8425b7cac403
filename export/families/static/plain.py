"""A static student in `encoder.bin`, the file of the programs in C and Java: its settings and its vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....system.types import Floats
from ...c.reference import Layers, flatten, stack_windows, to_unit_length
from ...tflite.graph import Graph
from ...tflite.weights import Parts

# The family's name and its number in the file.
FAMILY, NUMBER = "static", 0


def numbers_of(parts: Parts) -> list[int]:
    """Return the end of the file's settings: the number of tokens of the rows' window, or 0."""
    return list(parts.orders)


def sections_of(graph: Graph, parts: Parts) -> dict[str, np.ndarray]:
    """Return the sections other than those of the table and the dense layers."""
    return flatten(parts.vectors)


def vector_of(x: Floats, layers: Layers, numbers: Sequence[int]) -> Floats:
    """Compute the vector of a text. Returns a vector of unit length, float32 `(d,)`."""
    for order in filter(None, numbers[:1]):
        x = x + layers.dense("context.second", layers.dense("context.first", stack_windows(x, order), relu=True))
    x = to_unit_length(x.sum(axis=0, keepdims=True, dtype=np.float32))
    x = x + layers.dense("second", layers.dense("first", x, relu=True))
    return to_unit_length(layers.dense("lift", x))[0]
