"""BERT's layers: rows with their positions, and the block of attention and a feed-forward network.

Devlin et al. (2019), BERT: Pre-training of deep bidirectional transformers for language understanding, after Vaswani et
al. (2017), Attention is all you need, section 3. A normalisation follows each residual sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, Union

import keras
from keras import ops

from ...system.types import Json, Tensor

# Of all tokens, or a part for each width of their rows.
Parts: TypeAlias = Union[Tensor, "list[Tensor]"]

# What is added to the scores of tokens that are not looked at; float16 holds it.
FAR = -30_000.0
# One hidden unit in so many keeps 8 bits. In a trained encoder a few units cause most of the error of 4 bits.
WIDE_SHARE = 12


def compute_gelu(x: Tensor) -> Tensor:
    """Return x times the chance that a normal number is below it: exactly, in two passes fewer than Keras takes.

    Hendrycks and Gimpel (2016), Gaussian error linear units.
    """
    half = x * 0.5
    return half + half * ops.erf(x * 0.5**0.5)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": compute_gelu,
    "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
    "relu": ops.relu,
}


def by_head(x: Tensor, heads: int) -> Tensor:
    """Return the heads apart: `(b, t, heads * s)` -> `(b, heads, t, s)`."""
    x = ops.reshape(x, (*ops.shape(x)[:2], heads, x.shape[-1] // heads))
    return ops.transpose(x, (0, 2, 1, 3))


def look(query: Tensor, key: Tensor, value: Tensor, looks: Tensor) -> Tensor:
    """Return each token's mean of the values that it looks at, `(b, t, h * s)`.

    `query`, `key` and `value` are `(b, h, t, s)`, `looks` bool `(b, t, t)` or `(b, 1, t)`.
    """
    _, heads, tokens, size = ops.shape(query)
    # The queries are divided, not the scores, of which there are more.
    scores = ops.matmul(query / query.shape[-1] ** 0.5, ops.transpose(key, (0, 1, 3, 2)))  # (b, h, t, t)
    scores = ops.where(looks[:, None], ops.cast(scores, "float32"), FAR)
    means = ops.matmul(ops.cast(ops.softmax(scores), value.dtype), value)  # (b, h, t, s)
    return ops.reshape(ops.transpose(means, (0, 2, 1, 3)), (-1, tokens, heads * size))


def split_rows(x: Tensor, groups: Sequence[Tensor]) -> list[Tensor]:
    """Return tokens `(t, …)` that lie flat in the rows of each of the groups, whose first axes are `(r, w)`.

    The groups follow each other, and t is the number of all their tokens.
    """
    parts, begin, rest = [], 0, ops.shape(x)[1:]
    for group in groups:
        rows, width = ops.shape(group)[:2]
        # Not x[begin:end], and of one group nothing: on TensorFlow the gradient of a slice costs, of the former most.
        part = ops.slice(x, (begin, *(0 for _ in rest)), (rows * width, *rest)) if len(groups) > 1 else x
        parts.append(ops.reshape(part, (rows, width, *rest)))
        begin = begin + rows * width
    return parts


@keras.saving.register_keras_serializable("distill")
class Positions(keras.layers.Layer):
    """Rows plus the vectors of their places, normalised: `(b, t, w)` and places int32 `(b, t)` -> `(b, t, w)`.

    Places behind the last of `size` count as that one. The vector of BERT's first segment is part of each place's.
    """

    def __init__(self, size: int, epsilon: float, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.size, self.epsilon = size, epsilon
        self.norm = keras.layers.LayerNormalization(epsilon=epsilon, name="norm")

    def build(self, x_shape: Sequence[int], places_shape: Sequence[int] | None = None) -> None:
        self.embeddings = self.add_weight(
            shape=(self.size, x_shape[-1]), initializer=keras.initializers.RandomNormal(stddev=0.02), name="embeddings"
        )
        self.norm.build(x_shape)

    def call(self, x: Tensor, places: Tensor) -> Tensor:
        rows = ops.take(self.embeddings, ops.minimum(places, self.size - 1), axis=0)
        return self.norm(x + ops.cast(rows, x.dtype))

    def compute_output_shape(
        self, x_shape: Sequence[int | None], places_shape: Sequence[int | None] | None = None
    ) -> tuple[int | None, ...]:
        return tuple(x_shape)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "size": self.size, "epsilon": self.epsilon}


@keras.saving.register_keras_serializable("distill")
class Block(keras.layers.Layer):
    """Attention of `heads` heads of `head_size`, and `inner` hidden units, each normalised with what goes around it.

    In mixed precision the dense layers alone compute in 16 bits: they take the time, and what is between them is in
    float32 no slower. Tokens `(b, t, w)` and which of them look at which, bool `(b, t, t)` or `(b, 1, t)`, become
    `(b, t, w)`. So do tokens `(t, w)` that lie flat, of rows of several widths, with a list of which of them look at
    which, `(r, v, v)`, and one of their places `(r, v)`, a part for each width: attention alone needs the rows.
    """

    def __init__(
        self, heads: int, head_size: int, inner: int, epsilon: float, activation: str = "gelu", **kwargs: Json
    ) -> None:
        super().__init__(**kwargs)
        self.heads, self.head_size, self.inner = heads, head_size, inner
        self.epsilon, self.activation = epsilon, activation
        for name in ("query", "key", "value"):
            setattr(self, name, self.make_dense(heads * head_size, name))
        self.first = self.make_dense(inner, "first")
        for name in ("attention_norm", "norm"):
            setattr(self, name, self.make_norm(name))

    def make_dense(self, units: int, name: str) -> keras.layers.Dense:
        """Return a dense layer of the block."""
        return keras.layers.Dense(units, name=name)

    def make_norm(self, name: str) -> keras.layers.LayerNormalization:
        """Return a normalisation of the block."""
        return keras.layers.LayerNormalization(epsilon=self.epsilon, name=name)

    def build(self, x_shape: Sequence[int], looks_shape: Sequence[int] | None = None) -> None:
        width = x_shape[-1]
        self.attention = self.make_dense(width, "attention")
        self.second = self.make_dense(width, "second")
        for layer in (*self.look_layers, *self.unit_layers, self.attention_norm, self.norm):
            layer.build(x_shape)
        self.attention.build((*x_shape[:-1], self.heads * self.head_size))
        self.second.build((*x_shape[:-1], self.inner))

    def call(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        return self.add_units(self.add_attention(x, looks, places))

    def add_attention(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        """Return the tokens after attention, `(b, t, w)`; their places count in the rows alone."""
        return self.attention_norm(x + ops.cast(self.attention(self.attend_parts(x, looks, places)), x.dtype))

    def attend_parts(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        """Return `attend`'s means of all tokens, or of tokens that lie flat, each part's in its rows."""
        if not isinstance(places, list):
            return self.attend(x, looks, places)
        means = [self.attend(*part) for part in zip(split_rows(x, places), looks, places, strict=True)]
        return ops.concatenate([ops.reshape(part, (-1, part.shape[-1])) for part in means])

    def add_units(self, x: Tensor) -> Tensor:
        """Return the tokens after the feed-forward network, `(b, t, w)`."""
        return self.norm(self.sum_units(x))

    def sum_units(self, x: Tensor) -> Tensor:
        """Return the tokens plus what their hidden units give, `(b, t, w)`."""
        return x + ops.cast(self.second(self.compute_units(x)), x.dtype)

    def copy_final_norm(self, other: Block) -> None:
        """Copy the weights of the normalisation behind another block's hidden units."""
        self.norm.set_weights(other.norm.get_weights())

    @property
    def denses(self) -> list[keras.layers.Dense]:
        """The dense layers."""
        return [*self.look_layers, self.attention, *self.unit_layers, self.second]

    @property
    def wide_units(self) -> int:
        """The number of hidden units, the first ones, whose weights an export in int4 stores in 8 bits."""
        return self.inner // WIDE_SHARE

    @property
    def unit_layers(self) -> list[keras.layers.Dense]:
        """The dense layers that the hidden units come of."""
        return [self.first]

    def compute_units(self, x: Tensor) -> Tensor:
        """Return the hidden units of tokens after attention, `(b, t, inner)`."""
        return ACTIVATIONS[self.activation](ops.cast(self.first(x), x.dtype))

    @property
    def look_layers(self) -> list[keras.layers.Dense]:
        """The dense layers of query, key and value."""
        return [self.query, self.key, self.value]

    def normalize_inputs(self, x: Tensor) -> Tensor:
        """Return tokens before the block as `look_layers` read them, `(b, t, w)`."""
        return x

    def attend(self, x: Tensor, looks: Tensor, places: Tensor) -> Tensor:
        """Return each token's mean of the values that it looks at, `(b, t, heads * head_size)`."""
        query, key, value = (by_head(layer(x), self.heads) for layer in self.look_layers)
        return look(query, key, value, looks)

    def compute_output_shape(
        self, x_shape: Sequence[int | None], looks_shape: Sequence[int | None] | None = None
    ) -> tuple[int | None, ...]:
        return tuple(x_shape)

    def get_config(self) -> dict[str, Json]:
        names = ("heads", "head_size", "inner", "epsilon", "activation")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
