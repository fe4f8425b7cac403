"""Build the graph that an artefact has of a student, for texts of any length or of some lengths."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ...encoders.tokenizer import Tokenizer, list_spellings
from ...students.student import Student
from ...system.types import Model, Tensor
from ..families.registry import family_part, prepare_table
from ..weights.precision import Precision
from .layers import Padding, remove_padding


def edge_encoder(model: Student, precision: Precision, padding: Padding = None) -> keras.layers.Layer:
    """Build a layer that computes for one text what a student does, ids `(t,)` -> `(1, d)`.

    Padding is None if there are no negative ids behind a text's, or else "masked" or "sliced".
    """
    part = family_part(model.family, "edge", "a TFLite graph")
    return part.EdgeEncoder(prepare_table(model, precision), precision, padding, name="encoder")


def edge_model(
    model: Student,
    precision: Precision,
    length: int | None = None,
    sliced: bool = True,
    tokenizer: Tokenizer | None = None,
) -> Model:
    """Build a functional model of a student, ids int32 `(1, t)` -> `(1, d)` of unit length.

    Args:
        length: The fixed t, or None for any number.
        sliced: True to cut padding off in the graph, where it costs nothing; an input that is kept at one length then
            spares the runtime a new plan for every other length. False to mask it, so that every shape is known
            beforehand; this needs `length`.
        tokenizer: A tokenizer whose spellings the graph expands; padding is then cut off.
    """
    if tokenizer and tokenizer.spellings is not None:
        encoder = edge_encoder(model, precision)
        return _functional_model(
            lambda ids: encoder(expand_spellings(PaddingRemoval(name="unpadded")(ids), tokenizer)), length
        )
    return _functional_model(edge_encoder(model, precision, "sliced" if sliced else "masked"), length)


def edge_models(model: Student, precision: Precision, lengths: Sequence[int]) -> dict[int, Model]:
    """Build functional models for several lengths that share their weights."""
    encoder = edge_encoder(model, precision, "masked")
    return {length: _functional_model(encoder, length) for length in lengths}


def expand_spellings(ids: Tensor, tokenizer: Tokenizer) -> Tensor:
    """Replace the ids of spellings by those that they stand for, ids `(t,)` -> `(n,)`. Returns int32 ids `(n,)`."""
    return ids if tokenizer.spellings is None else SpellingExpansion(tokenizer, name="expanded")(ids)


class SpellingExpansion(keras.layers.Layer):
    """Replaces the ids of spellings by those that they stand for: ids `(t,)` without padding -> `(n,)`."""

    def __init__(self, tokenizer: Tokenizer, **kwargs: str) -> None:
        super().__init__(**kwargs)
        rows = [one.ids for one in list_spellings(tokenizer)]
        self.first, self.counts = len(tokenizer), np.array([len(row) for row in rows], dtype=np.int32)
        self.starts = np.cumsum([0, *self.counts[:-1]]).astype(np.int32)
        self.numbers = np.array([id for row in rows for id in row], dtype=np.int32)

    def call(self, ids: Tensor) -> Tensor:
        import tensorflow as tf

        place, plain = tf.maximum(ids - self.first, 0), ids < self.first
        counts = tf.where(plain, 1, tf.gather(tf.constant(self.counts), place))
        starts = tf.gather(tf.constant(self.starts), place)
        ends, at = tf.cumsum(counts), tf.range(tf.reduce_sum(counts))
        # The token that each place of the result comes from is the number of tokens that end before it.
        piece = tf.reduce_sum(tf.cast(ends[None, :] <= at[:, None], tf.int32), axis=1)
        source = tf.gather(ids, piece)
        within = tf.where(source < self.first, 0, at - tf.gather(ends - counts, piece))
        meant = tf.gather(tf.constant(self.numbers), tf.gather(starts, piece) + within)
        return tf.where(source < self.first, source, meant)

    def compute_output_spec(self, ids: Tensor) -> Tensor:
        return keras.KerasTensor((None,), dtype="int32")


class PaddingRemoval(keras.layers.Layer):
    """Cuts off the padding behind ids `(t,)`."""

    def call(self, ids: Tensor) -> Tensor:
        return remove_padding(ids)

    def compute_output_spec(self, ids: Tensor) -> Tensor:
        return keras.KerasTensor((None,), dtype="int32")


def _functional_model(encoder, length):
    ids = keras.Input(batch_shape=(1, length), dtype="int32", name="ids")
    return keras.Model(ids, encoder(ops.reshape(ids, (-1,))), name="encoder")
