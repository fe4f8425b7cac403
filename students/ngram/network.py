"""The n-gram convolutional encoder of mUSE-small (Yang et al., 2020), as a Keras model.

Token ids become embeddings, and these go through a residual convolution branch per n-gram order. The branches are
joined, normalised, summed over tokens and divided by sqrt(n). A residual feed-forward network and tanh follow, and the
vector is scaled to unit length. Padding is any negative id, so that every id of the vocabulary can be used.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from ...export.weights.rewrite import FARTHEST
from ...system.types import Json, Tensor
from ..student import EPSILON, Projection, Student, embed, make_tables, make_windows, mask_features, scale_to_unit


@keras.saving.register_keras_serializable("distill")
class Convolution(keras.layers.Layer):
    """A ReLU convolution over windows of `order` tokens with a residual: `(b, t, c)` -> `(b, t, c)`.

    The windows are concatenated and multiplied once: on CPU and in TFLite a dense layer is faster than a convolution of
    the same size.
    """

    def __init__(self, order: int, channels: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.order, self.channels = order, channels
        self.dense = keras.layers.Dense(channels, activation="relu", name="dense")

    def build(self, shape: Sequence[int]) -> None:
        self.dense.build((*shape[:-1], self.order * shape[-1]))

    def call(self, x: Tensor) -> Tensor:
        return x + self.dense(make_windows(x, self.order))  # (b, t, order * c) -> (b, t, c)

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return tuple(shape)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "order": self.order, "channels": self.channels}


@keras.saving.register_keras_serializable("distill")
class Branch(keras.layers.Layer):
    """The projection, LayerNorm and one or two residual convolutions of an n-gram order: `(b, t, w)` -> `(b, t, c)`."""

    def __init__(self, order: int, channels: int, convolutions: int = 2, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.order, self.channels = order, channels
        self.projection = keras.layers.Dense(channels, name="projection")
        self.norm = keras.layers.LayerNormalization(epsilon=EPSILON, name="norm")
        self.first = Convolution(order, channels, name="first")
        self.second = Convolution(order, channels, name="second") if convolutions > 1 else None

    @property
    def convolutions(self) -> list[Convolution]:
        """The convolutions, the first one first."""
        return [layer for layer in (self.first, self.second) if layer]

    def build(self, x_shape: Sequence[int], keep_shape: Sequence[int] | None = None) -> None:
        self.projection.build(x_shape)
        for layer in (self.norm, *self.convolutions):
            if not layer.built:
                layer.build((*x_shape[:-1], self.channels))

    def call(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        # A convolution reads its neighbours, so padding has to be zero again before each.
        x = self.norm(self.projection(x))
        for convolution in self.convolutions:
            x = convolution(mask_features(x, keep))
        return x

    def compute_output_shape(
        self, x_shape: Sequence[int | None], keep_shape: Sequence[int | None] | None = None
    ) -> tuple[int | None, ...]:
        return (*x_shape[:-1], self.channels)

    def get_config(self) -> dict[str, Json]:
        sizes = {"order": self.order, "channels": self.channels, "convolutions": len(self.convolutions)}
        return {**super().get_config(), **sizes}


@keras.saving.register_keras_serializable("distill")
class Pooling(keras.layers.Layer):
    """A dense layer on each token, summed over n tokens / sqrt(n): sums `(b, w)` and counts `(b, 1)` -> `(b, d)`.

    Both are linear, so the sum comes first, which gives the same result and is cheaper.
    """

    def __init__(self, dimension: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.dimension = dimension
        self.dense = keras.layers.Dense(dimension, use_bias=False, name="dense")

    def build(self, summed_shape: Sequence[int], count_shape: Sequence[int]) -> None:
        self.dense.build(summed_shape)
        self.bias = self.add_weight(shape=(self.dimension,), initializer="zeros", name="bias")

    def call(self, summed: Tensor, count: Tensor) -> Tensor:
        return self.scale(self.dense(summed), count)

    def scale(self, projected: Tensor, count: Tensor) -> Tensor:
        """Scale sums `(b, d)` of `(b, 1)` tokens that went through the dense layer already."""
        return (projected + count * self.bias) / ops.sqrt(count)

    def compute_output_shape(
        self, summed_shape: Sequence[int | None], count_shape: Sequence[int | None]
    ) -> tuple[int | None, ...]:
        return (summed_shape[0], self.dimension)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "dimension": self.dimension}


@keras.saving.register_keras_serializable("distill")
class Head(keras.layers.Layer):
    """The residual feed-forward network with tanh, scaled to unit length: `(b, d)` -> `(b, d)`."""

    def __init__(self, hidden: int, dimension: int, inner: int | None = None, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.hidden, self.dimension, self.inner = hidden, dimension, inner or dimension
        self.sizes = {"first": hidden, "second": hidden, "second_skip": hidden}
        self.sizes |= {"third": self.inner, "fourth": dimension, "fourth_skip": dimension}
        for name, size in self.sizes.items():
            setattr(self, name, keras.layers.Dense(size, use_bias=False, name=name))

    def build(self, shape: Sequence[int]) -> None:
        for layer in (self.first, self.second_skip):
            layer.build(shape)
        for layer in (self.second, self.third, self.fourth_skip):
            layer.build((shape[0], self.hidden))
        self.fourth.build((shape[0], self.inner))

    def call(self, x: Tensor) -> Tensor:
        hidden = ops.relu(self.second_skip(x) + self.second(ops.relu(self.first(x))))
        return scale_to_unit(ops.tanh(self.fourth_skip(hidden) + self.fourth(ops.relu(self.third(hidden)))))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (shape[0], self.dimension)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "hidden": self.hidden, "dimension": self.dimension, "inner": self.inner}


@keras.saving.register_keras_serializable("distill")
class NGramEncoder(Student):
    """An n-gram encoder: token ids `(b, t)` int32, negative for padding, to unit vectors `(b, dimension)` float32.

    The defaults are those of mUSE-small. Yang et al. (2020), section 2; the shapes are those of the released weights.

    Args:
        convolutions: The number of convolutions of a branch, 1 or 2.
        inner: The number of units of the head's third layer; None for the head's output dimension.
        space: The dimension of the head in front of a projection to `dimension`; None for no projection.
        rank: The number of columns of the table, projected to `width`; None for `width` columns.
        foreign: True if the projection is a learned map into another space, the teacher's; otherwise it is fixed.
    """

    family = "ngram"

    def __init__(
        self,
        vocabulary: int = 128_000,
        width: int = 512,
        channels: int = 256,
        orders: Sequence[int] = (2, 3, 5),
        hidden: int = 320,
        dimension: int = 512,
        convolutions: int = 2,
        inner: int | None = None,
        space: int | None = None,
        rank: int | None = None,
        foreign: bool = False,
        segmented: bool = False,
        **kwargs: Json,
    ) -> None:
        # layers
        tables = make_tables(vocabulary, rank or width, segmented)
        branches = [Branch(order, channels, convolutions, name=f"order_{order}") for order in orders]
        norm = keras.layers.LayerNormalization(epsilon=EPSILON, name="norm")
        pooling = Pooling(space or dimension, name="pooling")
        head = Head(hidden, space or dimension, inner, name="head")

        # functional model
        ids = keras.Input((None,), dtype="int32", name="ids")
        keep = ops.expand_dims(ops.cast(ops.greater_equal(ids, 0), "float32"), -1)  # (b, t, 1)
        x = embed(ids, *tables)
        if rank:
            x = keras.layers.Dense(width, use_bias=False, name="factor")(x)
        features = join_features(x, keep, branches, norm)
        vectors = head(pooling(ops.sum(features, axis=1), ops.sum(keep, axis=1)))
        if space:
            vectors = Projection(dimension, foreign, name="projection")(vectors)
        super().__init__(inputs=ids, outputs=vectors, **kwargs)

        # config
        self.vocabulary, self.width, self.channels = vocabulary, width, channels
        self.orders, self.hidden, self.dimension = tuple(orders), hidden, dimension
        self.convolutions, self.inner, self.space, self.rank = convolutions, inner, space, rank
        self.foreign, self.segmented = foreign, segmented

    @property
    def branches(self) -> list[Branch]:
        return [self.get_layer(f"order_{order}") for order in self.orders]

    @property
    def token_layers(self) -> list[keras.layers.Layer]:
        """The layers behind the table that process each token."""
        return [*([self.get_layer("factor")] if self.rank else []), *self.branches, self.get_layer("norm")]

    @property
    def rounded_kernels(self) -> list[tuple[keras.Variable, Tensor | None]]:
        """The kernels of the branches, the head and a factor: an export multiplies pooling's into the head's first.

        An export divides the kernels that read the hidden units by their size (`rewrite.balance`). It also multiplies
        columns of the kernels before them, which changes no rounding.
        """
        head = self.get_layer("head")
        layers = [self.get_layer("factor")] if self.rank else []
        for branch in self.branches:
            layers += [branch.projection, *(convolution.dense for convolution in branch.convolutions)]
        layers += [head.first, head.second_skip, head.second, head.fourth]
        scale = compute_hidden_scale(ops.stop_gradient(head.fourth_skip.kernel))
        scaled = [(layer.kernel, scale) for layer in (head.third, head.fourth_skip)]
        return [*((layer.kernel, None) for layer in layers), *scaled]

    @property
    def gap(self) -> int:
        """The number of padding ids that separate two neighbouring texts of a packed sequence."""
        return max(self.orders) // 2

    def features(self, x: Tensor, keep: Tensor | None) -> Tensor:
        """Compute the masked features `(b, t, f)` of embeddings `(b, t, w)`, with a mask `(b, t, 1)`."""
        x = self.get_layer("factor")(x) if self.rank else x
        return join_features(x, keep, self.branches, self.get_layer("norm"))

    def pool(self, summed: Tensor, counts: Tensor) -> Tensor:
        """Compute the vectors `(b, d)` of texts from summed features `(b, f)` and numbers of tokens `(b, 1)`."""
        return self.get_layer("head")(self.get_layer("pooling")(summed, counts))

    def get_config(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "vocabulary": self.vocabulary,
            "width": self.width,
            "channels": self.channels,
            "orders": list(self.orders),
            "hidden": self.hidden,
            "dimension": self.dimension,
            "convolutions": self.convolutions,
            "inner": self.inner,
            "space": self.space,
            "rank": self.rank,
            "foreign": self.foreign,
            "segmented": self.segmented,
        }


def join_features(x: Tensor, keep: Tensor | None, branches: Sequence[Branch], norm: keras.layers.Layer) -> Tensor:
    """Compute the joined and normalised features of embeddings: `(b, t, w)` -> `(b, t, w + branches * c)`."""
    joined = ops.concatenate([x, *(branch(x, keep) for branch in branches)], axis=-1)
    return mask_features(norm(joined), keep)


def compute_hidden_scale(kernel: Tensor) -> Tensor:
    """Return the factors `(hidden, 1)` by which `rewrite.balance` multiplies the inputs of `fourth_skip`."""
    scale = ops.sqrt(ops.max(ops.abs(kernel), axis=1, keepdims=True))
    return ops.clip(scale / ops.maximum(ops.median(scale), 1e-12), 1 / FARTHEST, FARTHEST)


NETWORK = NGramEncoder
