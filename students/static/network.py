"""The fastest student: a sum of weighted piece vectors and a small residual network.

The weights of the pieces (Arora et al., 2017) are multiplied into the rows of the table, where they go on learning.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from ...system.types import Json, Tensor
from ..student import Projection, Student, unit, windows


@keras.saving.register_keras_serializable("distill")
class Context(keras.layers.Layer):
    """x + W2 max(0, W1 [x and its neighbours] + b), of windows of `order` tokens: `(b, t, w)` -> `(b, t, w)`."""

    def __init__(self, order: int, channels: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.order, self.channels = order, channels
        self.first = keras.layers.Dense(channels, activation="relu", name="first")

    def build(self, shape: Sequence[int]) -> None:
        self.second = keras.layers.Dense(shape[-1], use_bias=False, name="second")
        self.first.build((*shape[:-1], self.order * shape[-1]))
        self.second.build((*shape[:-1], self.channels))

    def call(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(windows(x, self.order)))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return tuple(shape)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "order": self.order, "channels": self.channels}


@keras.saving.register_keras_serializable("distill")
class Residual(keras.layers.Layer):
    """x + W2 max(0, W1 x + b), then a product into the teacher's space, at unit length: `(b, w)` -> `(b, d)`."""

    def __init__(self, hidden: int, dimension: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.hidden, self.dimension = hidden, dimension
        self.first = keras.layers.Dense(hidden, activation="relu", name="first")
        self.lift = keras.layers.Dense(dimension, use_bias=False, name="lift")

    def build(self, shape: Sequence[int]) -> None:
        self.second = keras.layers.Dense(shape[-1], use_bias=False, name="second")
        self.first.build(shape)
        self.second.build((shape[0], self.hidden))
        self.lift.build(shape)

    def call(self, x: Tensor) -> Tensor:
        return unit(self.lift(x + self.second(self.first(x))))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (shape[0], self.dimension)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "hidden": self.hidden, "dimension": self.dimension}


@keras.saving.register_keras_serializable("distill")
class StaticEncoder(Student):
    """Token ids `(b, t)` int32, negative where padded -> float32 `(b, dimension)`, rows of unit length.

    The rows of a text's pieces summed, at unit length, through a residual network with `hidden` units into the
    teacher's space; with `space` that has so many dimensions, and a fixed projection takes `dimension` of them, or a
    learned one maps them into another space, the teacher's, where it is `foreign`.
    With `channels` each row first learns from its neighbours in a window of `order` tokens; without it is static.
    """

    family = "static"

    def __init__(
        self,
        vocabulary: int = 128_000,
        width: int = 256,
        hidden: int = 256,
        dimension: int = 512,
        space: int | None = None,
        channels: int = 0,
        order: int = 3,
        foreign: bool = False,
        **kwargs: Json,
    ) -> None:
        # layers
        embedding = keras.layers.Embedding(vocabulary, width, name="embedding")
        residual = Residual(hidden, space or dimension, name="residual")

        # functional model
        ids = keras.Input((None,), dtype="int32", name="ids")
        keep = ops.expand_dims(ops.cast(ops.greater_equal(ids, 0), "float32"), -1)  # (b, t, 1)
        x = embedding(ops.maximum(ids, 0)) * keep
        if channels:
            x = Context(order, channels, name="context")(x) * keep
        vectors = residual(unit(ops.sum(x, axis=1)))
        if space:
            vectors = Projection(dimension, foreign, name="projection")(vectors)
        super().__init__(inputs=ids, outputs=vectors, **kwargs)

        # config
        self.vocabulary, self.width, self.hidden = vocabulary, width, hidden
        self.dimension, self.space, self.channels, self.order = dimension, space, channels, order
        self.foreign = foreign

    @property
    def token_layers(self) -> list[keras.layers.Layer]:
        """The layers behind the table that see each token."""
        return [self.get_layer("context")] if self.channels else []

    @property
    def gap(self) -> int:
        """The number of padding ids that keep two neighbouring texts of a packed sequence apart."""
        return self.order // 2 if self.channels else 0

    def features(self, x: Tensor, keep: Tensor) -> Tensor:
        """Return the masked features `(b, t, w)` of rows of the table `(b, t, w)` and their mask `(b, t, 1)`."""
        x = x * keep
        return self.get_layer("context")(x) * keep if self.channels else x

    def pooled(self, summed: Tensor, counts: Tensor) -> Tensor:
        """Return the vectors `(b, d)` of summed features `(b, w)`; their numbers do not count."""
        return self.get_layer("residual")(unit(summed))

    def get_config(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "vocabulary": self.vocabulary,
            "width": self.width,
            "hidden": self.hidden,
            "dimension": self.dimension,
            "space": self.space,
            "channels": self.channels,
            "order": self.order,
            "foreign": self.foreign,
        }


NETWORK = StaticEncoder
