"""A student as the graph of an artefact, of any length of text or of some."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
from keras import ops

from ...students.ngram import NGramEncoder
from ...students.static import StaticEncoder
from ...students.student import Student
from ...system.types import Model
from ..weights.precision import Precision
from ..weights.rewrite import prepared
from .layers import Padding
from .ngram import EdgeEncoder
from .static import EdgeStatic

EDGE: dict[type[Student], Callable[..., keras.layers.Layer]] = {NGramEncoder: EdgeEncoder, StaticEncoder: EdgeStatic}


def edge_encoder(model: Student, precision: Precision, padding: Padding = None) -> keras.layers.Layer:
    """A layer, ids `(t,)` -> `(1, d)`, that computes what `model` does for one text.

    Ids are negative where padded, after the text's; `padding` is None, masked or sliced.
    """
    return EDGE[type(model)](prepared(model, precision), precision, padding, name="encoder")


def edge_model(model: Student, precision: Precision, length: int | None = None, sliced: bool = True) -> Model:
    """A student as a functional model, ids int32 `(1, t)` -> `(1, d)`, rows of unit length.

    `length` fixes t; None is any. `sliced`: the padding is cut off in the graph and costs nothing, and an input that is
    kept at one length spares the runtime a new plan for every other length of a text. Else it is masked, so that every
    shape is known beforehand; then `length` is needed.
    """
    return _around(edge_encoder(model, precision, "sliced" if sliced else "masked"), length)


def edge_models(model: Student, precision: Precision, lengths: Sequence[int]) -> dict[int, Model]:
    """`{length: functional model}`, all with the same weights."""
    encoder = edge_encoder(model, precision, "masked")
    return {length: _around(encoder, length) for length in lengths}


def _around(encoder, length):
    ids = keras.Input(batch_shape=(1, length), dtype="int32", name="ids")
    return keras.Model(ids, encoder(ops.reshape(ids, (-1,))), name="encoder")
