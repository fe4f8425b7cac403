"""ModernBERT's layers: rows without positions, and the block of rotary attention and gated units.

Warner et al. (2024), Smarter, better, faster, longer: a modern bidirectional encoder, section 2.1. A normalisation
stands before what is added, nothing has a bias, and most blocks look at a token's neighbours alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ...system.types import Floats, Json, Tensor
from .block import ACTIVATIONS, Block, Parts, by_head, look


def make_norm(epsilon: float, name: str) -> keras.layers.LayerNormalization:
    """Return a normalisation without a bias."""
    return keras.layers.LayerNormalization(epsilon=epsilon, center=False, name=name)


def frequencies_of(theta: float, size: int) -> Floats:
    """Return by how much a place turns each pair of a head's numbers, in radians, `(size / 2,)`.

    Su et al. (2021), RoFormer: Enhanced transformer with rotary position embedding, section 3.2.2.
    """
    return (1 / theta ** (np.arange(0, size, 2, dtype=np.float32) / size)).astype(np.float32)


def rotate(x: Tensor, places: Tensor, frequencies: Floats) -> Tensor:
    """Return `(b, h, t, s)` with the numbers i and i + s / 2 turned by the token's place int32 `(b, t)`.

    So the product of two tokens says how far they are from each other.
    """
    angles = ops.cast(places, "float32")[:, None, :, None] * frequencies  # (b, 1, t, s / 2)
    cosine, sine = ops.cos(angles), ops.sin(angles)
    first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return ops.cast(ops.concatenate(turned, axis=-1), x.dtype)


@keras.saving.register_keras_serializable("distill")
class Rows(keras.layers.Layer):
    """Rows, normalised: `(b, t, w)` -> `(b, t, w)`; the places `(b, t)` come in at attention."""

    def __init__(self, epsilon: float, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.epsilon, self.norm = epsilon, make_norm(epsilon, "norm")

    def build(self, x_shape: Sequence[int], places_shape: Sequence[int] | None = None) -> None:
        self.norm.build(x_shape)

    def call(self, x: Tensor, places: Tensor | None = None) -> Tensor:
        return self.norm(x)

    def compute_output_shape(
        self, x_shape: Sequence[int | None], places_shape: Sequence[int | None] | None = None
    ) -> tuple[int | None, ...]:
        return tuple(x_shape)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "epsilon": self.epsilon}


@keras.saving.register_keras_serializable("distill")
class ModernBlock(Block):
    """Attention of heads that are turned by places and `theta`, and `inner` hidden units, each with a gate.

    With a `window` a token looks at that many on each side of it, else at all. `normed` says whether a normalisation
    stands before attention, which the first block, behind that of the rows, does not have. Tokens `(b, t, w)`, which of
    them look at which, bool `(b, t, t)` or `(b, 1, t)`, and their places int32 `(b, t)` become `(b, t, w)`. `Block`
    says the rest.
    """

    def __init__(
        self,
        heads: int,
        head_size: int,
        inner: int,
        epsilon: float,
        activation: str = "gelu",
        theta: float = 160_000.0,
        window: int | None = None,
        normed: bool = True,
        **kwargs: Json,
    ) -> None:
        super().__init__(heads, head_size, inner, epsilon, activation, **kwargs)
        self.theta, self.window, self.normed = theta, window, normed
        self.gate = self.make_dense(inner, "gate")
        if not normed:
            self.attention_norm = keras.layers.Identity(name="attention_norm")

    def make_dense(self, units: int, name: str) -> keras.layers.Dense:
        """Return a dense layer of the block, without a bias."""
        return keras.layers.Dense(units, use_bias=False, name=name)

    def make_norm(self, name: str) -> keras.layers.LayerNormalization:
        """Return a normalisation of the block, without a bias."""
        return make_norm(self.epsilon, name)

    def add_attention(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        """Return the tokens after attention, `(b, t, w)`."""
        return x + ops.cast(self.attention(self.attend_parts(x, looks, places)), x.dtype)

    def add_units(self, x: Tensor) -> Tensor:
        """Return the tokens after the feed-forward network, `(b, t, w)`."""
        return self.sum_units(x)

    def copy_final_norm(self, other: Block) -> None:
        """Do nothing: this kind of block has its normalisation before the hidden units."""

    @property
    def unit_layers(self) -> list[keras.layers.Dense]:
        """The dense layers that the hidden units come of."""
        return [self.first, self.gate]

    def compute_units(self, x: Tensor) -> Tensor:
        """Return the hidden units of tokens after attention, `(b, t, inner)`. Shazeer (2020), GLU variants."""
        inputs = self.norm(x)
        first, gate = (ops.cast(layer(inputs), x.dtype) for layer in self.unit_layers)
        return ACTIVATIONS[self.activation](first) * gate

    def normalize_inputs(self, x: Tensor) -> Tensor:
        """Return tokens before the block as `look_layers` read them, `(b, t, w)`."""
        return self.attention_norm(x)

    def attend(self, x: Tensor, looks: Tensor, places: Tensor) -> Tensor:
        """Return each token's mean of the values that it looks at, `(b, t, heads * head_size)`."""
        x = self.normalize_inputs(x)
        query, key, value = (by_head(layer(x), self.heads) for layer in self.look_layers)
        frequencies = frequencies_of(self.theta, self.head_size)
        query, key = (rotate(part, places, frequencies) for part in (query, key))
        if self.window is not None:
            looks = looks & ops.less_equal(ops.abs(places[:, :, None] - places[:, None]), self.window)
        return look(query, key, value, looks)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "theta": self.theta, "window": self.window, "normed": self.normed}
