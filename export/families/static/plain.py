"""A static student in `encoder.bin`, the file of the programs in C and Java: its settings, its vectors by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....system.types import Floats
from ...c.reference import Layers, unit, windows

# The family's name, and the number that stands for it in the file.
FAMILY, NUMBER = "static", 0


def numbers_of(orders: Sequence[int]) -> list[int]:
    """Return the end of the file's settings: the tokens of the rows' window, 0 without one, and no branches."""
    return [sum(orders), 0]


def orders_in(numbers: Sequence[int]) -> list[int]:
    """Return the tokens of the windows that the end of the settings says."""
    return [numbers[0]]


def vector_of(x: Floats, layers: Layers, orders: Sequence[int]) -> Floats:
    """Return the vector `(d,)` of a text whose rows of the table are `x` `(t, w)`."""
    for order in orders:
        x = x + layers.dense("context.second", layers.dense("context.first", windows(x, order), relu=True))
    x = unit(x.sum(axis=0, keepdims=True, dtype=np.float32))
    x = x + layers.dense("second", layers.dense("first", x, relu=True))
    return unit(layers.dense("lift", x))[0]
