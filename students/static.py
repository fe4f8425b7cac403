"""The fastest student: a sum of weighted piece vectors and a small residual network.

The weights of the pieces (Arora et al., 2017) are multiplied into the rows of the table, where they go on learning.
"""

import keras
from keras import ops

from .student import Projection, Student, unit, windows


@keras.saving.register_keras_serializable("distill")
class Context(keras.layers.Layer):
    """x + W2 max(0, W1 [x and its neighbours] + b), of windows of `order` tokens: `(b, t, w)` -> `(b, t, w)`."""

    def __init__(self, order, channels, **kwargs):
        super().__init__(**kwargs)
        self.order, self.channels = order, channels
        self.first = keras.layers.Dense(channels, activation="relu", name="first")

    def build(self, shape):
        self.second = keras.layers.Dense(shape[-1], use_bias=False, name="second")
        self.first.build((*shape[:-1], self.order * shape[-1]))
        self.second.build((*shape[:-1], self.channels))

    def call(self, x):
        return x + self.second(self.first(windows(x, self.order)))

    def get_config(self):
        return {**super().get_config(), "order": self.order, "channels": self.channels}


@keras.saving.register_keras_serializable("distill")
class Residual(keras.layers.Layer):
    """x + W2 max(0, W1 x + b), then a product into the teacher's space, at unit length: `(b, w)` -> `(b, d)`."""

    def __init__(self, hidden, dimension, **kwargs):
        super().__init__(**kwargs)
        self.hidden, self.dimension = hidden, dimension
        self.first = keras.layers.Dense(hidden, activation="relu", name="first")
        self.lift = keras.layers.Dense(dimension, use_bias=False, name="lift")

    def build(self, shape):
        self.second = keras.layers.Dense(shape[-1], use_bias=False, name="second")
        self.first.build(shape)
        self.second.build((shape[0], self.hidden))
        self.lift.build(shape)

    def call(self, x):
        return unit(self.lift(x + self.second(self.first(x))))

    def get_config(self):
        return {**super().get_config(), "hidden": self.hidden, "dimension": self.dimension}


@keras.saving.register_keras_serializable("distill")
class StaticEncoder(Student):
    """Token ids `(b, t)` int32, negative where padded -> float32 `(b, dimension)`, rows of unit length.

    The rows of a text's pieces summed, at unit length, through a residual network with `hidden` units into the
    teacher's space; with `space` that has so many dimensions, and a fixed projection takes `dimension` of them, or a
    learned one maps them into another space, the teacher's, where it is `foreign`.
    With `channels` each row first learns from its neighbours in a window of `order` tokens; without it is static.
    """

    def __init__(
        self,
        vocabulary=128_000,
        width=256,
        hidden=256,
        dimension=512,
        space=None,
        channels=0,
        order=3,
        foreign=False,
        **kwargs,
    ):
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
    def token_layers(self):
        return [self.get_layer("context")] if self.channels else []

    @property
    def gap(self):
        """How many padding ids keep two neighbouring texts of a packed sequence apart."""
        return self.order // 2 if self.channels else 0

    def features(self, x, keep):
        x = x * keep
        return self.get_layer("context")(x) * keep if self.channels else x

    def pooled(self, summed, counts):
        return self.get_layer("residual")(unit(summed))

    def get_config(self):
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
