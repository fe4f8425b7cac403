"""A student as the graph of an artefact, of any length of text or of some."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ...encoders.tokenizer import Tokenizer, spellings_of
from ...students.student import Student
from ...system.types import Model, Tensor
from ..families.prepared import prepared
from ..families.registry import family_part
from ..weights.precision import Precision
from .layers import Padding, unpadded


def edge_encoder(model: Student, precision: Precision, padding: Padding = None) -> keras.layers.Layer:
    """A layer, ids `(t,)` -> `(1, d)`, that computes what `model` does for one text.

    Ids are negative where padded, after the text's; `padding` is None, masked or sliced.
    """
    part = family_part(model.family, "edge", "a TFLite graph")
    return part.EdgeEncoder(prepared(model, precision), precision, padding, name="encoder")


def edge_model(
    model: Student,
    precision: Precision,
    length: int | None = None,
    sliced: bool = True,
    tokenizer: Tokenizer | None = None,
) -> Model:
    """A student as a functional model, ids int32 `(1, t)` -> `(1, d)`, rows of unit length.

    `length` fixes t; None is any. `sliced`: the padding is cut off in the graph and costs nothing, and an input that is
    kept at one length spares the runtime a new plan for every other length of a text. Else it is masked, so that every
    shape is known beforehand; then `length` is needed. With a `tokenizer` ids are those of its spellings too, and the
    input is sliced.
    """
    if tokenizer and tokenizer.spellings is not None:
        encoder = edge_encoder(model, precision)
        return _around(lambda ids: encoder(expanded(Unpadded()(ids), tokenizer)), length)
    return _around(edge_encoder(model, precision, "sliced" if sliced else "masked"), length)


def edge_models(model: Student, precision: Precision, lengths: Sequence[int]) -> dict[int, Model]:
    """`{length: functional model}`, all with the same weights."""
    encoder = edge_encoder(model, precision, "masked")
    return {length: _around(encoder, length) for length in lengths}


def expanded(ids: Tensor, tokenizer: Tokenizer) -> Tensor:
    """Return the ids `(n,)` that ids `(t,)` of a tokenizer's pieces stand for; without spellings they are the same."""
    return ids if tokenizer.spellings is None else Expanded(tokenizer, name="expanded")(ids)


class Expanded(keras.layers.Layer):
    """ids `(t,)`, none of them padding -> `(n,)` with those that spellings stand for in their place."""

    def __init__(self, tokenizer: Tokenizer, **kwargs: str) -> None:
        super().__init__(**kwargs)
        rows = [one.ids for one in spellings_of(tokenizer)]
        self.first, self.counts = len(tokenizer), np.array([len(row) for row in rows], dtype=np.int32)
        self.starts = np.cumsum([0, *self.counts[:-1]]).astype(np.int32)
        self.numbers = np.array([id for row in rows for id in row], dtype=np.int32)

    def call(self, ids: Tensor) -> Tensor:
        import tensorflow as tf

        place, plain = tf.maximum(ids - self.first, 0), ids < self.first
        counts = tf.where(plain, 1, tf.gather(tf.constant(self.counts), place))
        starts = tf.gather(tf.constant(self.starts), place)
        ends, at = tf.cumsum(counts), tf.range(tf.reduce_sum(counts))
        # Of each place in the result the piece that it comes from: as many as end before it.
        piece = tf.reduce_sum(tf.cast(ends[None, :] <= at[:, None], tf.int32), axis=1)
        source = tf.gather(ids, piece)
        within = tf.where(source < self.first, 0, at - tf.gather(ends - counts, piece))
        meant = tf.gather(tf.constant(self.numbers), tf.gather(starts, piece) + within)
        return tf.where(source < self.first, source, meant)

    def compute_output_spec(self, ids: Tensor) -> Tensor:
        return keras.KerasTensor((None,), dtype="int32")


class Unpadded(keras.layers.Layer):
    """ids `(t,)` up to the padding."""

    def call(self, ids: Tensor) -> Tensor:
        return unpadded(ids)

    def compute_output_spec(self, ids: Tensor) -> Tensor:
        return keras.KerasTensor((None,), dtype="int32")


def _around(encoder, length):
    ids = keras.Input(batch_shape=(1, length), dtype="int32", name="ids")
    return keras.Model(ids, encoder(ops.reshape(ids, (-1,))), name="encoder")
