"""The rows of the table that a training run touches.

Of mUSE's 128,000 pieces a data set uses some thousands. Rows that no text uses get no gradient, so Adam leaves
them as they are; training on the used rows alone gives the same weights at a fraction of the time and memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, IdLists
from .student import AnyStudent, Student

TABLE = "embedding"


class UsedRows:
    """`small`, a copy of `model` whose table holds only the rows that `token_lists` use, to train in its place."""

    def __init__(self, model: Student, token_lists: IdLists) -> None:
        self.rows = np.unique(np.concatenate([np.asarray(ids) for ids in token_lists]))
        self.index = np.full(model.vocabulary, -1, dtype=np.int32)
        self.index[self.rows] = np.arange(len(self.rows))
        table = model.get_layer(TABLE).get_weights()[0]
        self.small = with_table(model, table[self.rows])

    def ids(self, token_lists: IdLists) -> list[NDArray[np.int32]]:
        """Return the same lists in the small model's ids. A piece that was not in `token_lists` is a `KeyError`."""
        mapped = [self.index[np.asarray(ids)] for ids in token_lists]
        if any((ids < 0).any() for ids in mapped):
            raise KeyError("a text holds a piece that the used rows lack")
        return mapped

    def restore(self, model: Student) -> Student:
        """Return a full copy of `model` with the small model's weights, its rows in their places."""
        table = model.get_layer(TABLE).get_weights()[0].copy()
        table[self.rows] = self.small.get_layer(TABLE).get_weights()[0]
        return with_table(self.small, table)


def with_table(model: AnyStudent, table: Floats) -> AnyStudent:
    """Return a copy of a student with another table, `(rows, width)`."""
    copy = type(model).from_config({**model.get_config(), "vocabulary": len(table)})
    for layer in model.layers:
        if layer.name == TABLE:
            copy.get_layer(TABLE).set_weights([table])
        elif layer.weights:
            copy.get_layer(layer.name).set_weights(layer.get_weights())
    return copy
