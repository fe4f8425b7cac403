"""The embeddings that a training run touches.

Out of mUSE's 128,000 tokens a data set uses some thousands. Embeddings that no text uses get no gradient, so Adam
leaves them as they are. Training on the used ones alone gives the same weights in a fraction of the time and memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..encoders.compilation import note_longest
from ..system.types import Floats, IdLists, Json
from .student import AnyStudent, Student

TABLE = "embedding"


class UsedRows:
    """A copy of a student, `small`, that is trained in its place: its table holds only embeddings that texts use."""

    def __init__(self, model: Student, token_lists: IdLists) -> None:
        self.vocabulary = model.vocabulary
        # Ids of a second segment begin behind the vocabulary.
        self.rows = np.unique(np.concatenate([np.asarray(ids) for ids in token_lists]) % self.vocabulary)
        self.index = np.full(model.vocabulary, -1, dtype=np.int32)
        self.index[self.rows] = np.arange(len(self.rows))
        table = model.get_layer(TABLE).get_weights()[0]
        self.small = replace_table(model, table[self.rows])
        note_longest(self.small, max(map(len, token_lists)))

    def ids(self, token_lists: IdLists) -> list[NDArray[np.int32]]:
        """Return lists of token ids in the ids of the small model. Raises `KeyError` for a token that no text used."""
        split = [np.divmod(np.asarray(ids, dtype=np.int32), self.vocabulary) for ids in token_lists]
        mapped = [self.index[ids] for _, ids in split]
        if any((ids < 0).any() for ids in mapped):
            raise KeyError("a text holds a piece that the used rows lack")
        return [ids + len(self.rows) * segments for (segments, _), ids in zip(split, mapped, strict=True)]

    def restore(self, model: Student) -> Student:
        """Return a full copy of a student with the small model's weights, its embeddings in their places."""
        table = model.get_layer(TABLE).get_weights()[0].copy()
        table[self.rows] = self.small.get_layer(TABLE).get_weights()[0]
        return replace_table(self.small, table)


def add_segments(model: AnyStudent) -> AnyStudent:
    """Return a copy of a student that embeds two segments, at first with the second one's embedding or zeros."""
    if model.segmented:
        return model
    copy = replace_table(model, model.get_layer(TABLE).get_weights()[0], segmented=True)
    if (second := model.second_segment) is not None:
        copy.get_layer("segments").set_weights([np.stack([np.zeros_like(second), second])])
    return copy


def replace_table(model: AnyStudent, table: Floats, **changed: Json) -> AnyStudent:
    """Return a copy of a student with another table `(rows, width)`, and with other values of its config."""
    copy = type(model).from_config({**model.get_config(), "vocabulary": len(table), **changed})
    for layer in model.layers:
        if layer.name == TABLE:
            copy.get_layer(TABLE).set_weights([table])
        elif layer.weights:
            copy.get_layer(layer.name).set_weights(layer.get_weights())
    return copy
