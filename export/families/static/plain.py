"""A static student in `encoder.bin`, the file of the programs in C and Java: its settings, its vectors by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....system.types import Floats
from ...c.reference import Layers, flatten, unit, windows
from ...tflite.graph import Graph
from ...tflite.parts import Parts

# The family's name, and the number that stands for it in the file.
FAMILY, NUMBER = "static", 0


def numbers_of(parts: Parts) -> list[int]:
    """Return the end of the file's settings: the tokens of the rows' window, 0 without one."""
    return list(parts.orders)


def sections_of(graph: Graph, parts: Parts) -> dict[str, np.ndarray]:
    """Return the sections beside those of the table and the layers."""
    return flatten(parts.vectors)


def vector_of(x: Floats, layers: Layers, numbers: Sequence[int]) -> Floats:
    """Return the vector `(d,)` of a text whose rows of the table are `x` `(t, w)`; `numbers` end the settings."""
    for order in filter(None, numbers[:1]):
        x = x + layers.dense("context.second", layers.dense("context.first", windows(x, order), relu=True))
    x = unit(x.sum(axis=0, keepdims=True, dtype=np.float32))
    x = x + layers.dense("second", layers.dense("first", x, relu=True))
    return unit(layers.dense("lift", x))[0]
