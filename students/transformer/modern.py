"""ModernBERT's layers: embeddings without positions, and the block of rotary attention and gated units.

Warner et al. (2024), Smarter, better, faster, longer: a modern bidirectional encoder, section 2.1. The normalisations
are in front of the residual branches, no layer has a bias, and in most blocks a token attends only to its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ...system.types import Floats, Json, Tensor
from .block import ACTIVATIONS, Block, Parts, compute_attention


def make_norm(epsilon: float, name: str) -> keras.layers.LayerNormalization:
    """Make a normalisation without a bias."""
    return keras.layers.LayerNormalization(epsilon=epsilon, center=False, name=name)


def compute_frequencies(theta: float, size: int) -> Floats:
    """Compute the angle in radians by which one place turns each pair of a head's numbers.

    Su et al. (2021), RoFormer: Enhanced transformer with rotary position embedding, section 3.2.2.
    """
    return (1 / theta ** (np.arange(0, size, 2, dtype=np.float32) / size)).astype(np.float32)


def rotate(x: Tensor, places: Tensor, frequencies: Floats) -> Tensor:
    """Turn the numbers i and i + s / 2 of heads `(b, h, t, s)` by their place, so that distances count in products."""
    angles = ops.cast(places, "float32")[:, None, :, None] * frequencies  # (b, 1, t, s / 2)
    cosine, sine = ops.cos(angles), ops.sin(angles)
    first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return ops.cast(ops.concatenate(turned, axis=-1), x.dtype)


@keras.saving.register_keras_serializable("distill")
class Rows(keras.layers.Layer):
    """Normalised embeddings: `(b, t, w)` -> `(b, t, w)`. The places `(b, t)` are used only in attention."""

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
    """A block of rotary attention and gated hidden units. See `Block` for its inputs.

    Args:
        activation: A key of `ACTIVATIONS`.
        theta: The base of the angles by which places turn the heads.
        window: The number of tokens on each side to which a token attends; None for all tokens.
        normed: True for a normalisation in front of attention. The first block has none, since its inputs are
            normalised already.
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
        """Make a dense layer of the block, without a bias."""
        return keras.layers.Dense(units, use_bias=False, name=name)

    def make_norm(self, name: str) -> keras.layers.LayerNormalization:
        """Make a normalisation of the block without a bias, with a name."""
        return make_norm(self.epsilon, name)

    def add_attention(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        """Add the attention of tokens to them. Returns the tokens `(b, t, w)`."""
        return x + self.drop_units(self.attention(self.attend_parts(x, looks, places)), x.dtype)

    def add_units(self, x: Tensor) -> Tensor:
        """Add the output of the feed-forward network to tokens `(b, t, w)`."""
        return self.sum_units(x)

    def copy_final_norm(self, other: Block) -> None:
        """Do nothing: this kind of block has its normalisation before the hidden units."""

    @property
    def unit_layers(self) -> list[keras.layers.Dense]:
        """The dense layers that compute the hidden units."""
        return [self.first, self.gate]

    def compute_units(self, x: Tensor) -> Tensor:
        """Compute the hidden units of tokens after attention, `(b, t, inner)`. Shazeer (2020), GLU variants."""
        inputs = self.norm(x)
        first, gate = (ops.cast(layer(inputs), x.dtype) for layer in self.unit_layers)
        return ACTIVATIONS[self.activation](first) * gate

    def normalize_inputs(self, x: Tensor) -> Tensor:
        """Return tokens `(b, t, w)` in the form that `qkv_layers` read."""
        return self.attention_norm(x)

    def attend(self, x: Tensor, looks: Tensor, places: Tensor) -> Tensor:
        """Compute each token's mean of the values that it attends to. Returns the means `(b, t, heads * head_size)`."""
        x = self.normalize_inputs(x)
        query, key, value = self.project_inputs(x)
        frequencies = compute_frequencies(self.theta, self.head_size)
        query, key = (rotate(part, places, frequencies) for part in (query, key))
        if self.window is not None:
            looks = looks & ops.less_equal(ops.abs(places[:, :, None] - places[:, None]), self.window)
        return compute_attention(query, key, value, looks, self.drop)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "theta": self.theta, "window": self.window, "normed": self.normed}
