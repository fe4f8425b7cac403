"""BERT's layers: embeddings with positions, and the block of attention and a feed-forward network.

Devlin et al. (2019), BERT: Pre-training of deep bidirectional transformers for language understanding, after Vaswani et
al. (2017), Attention is all you need, section 3. A normalisation follows each residual sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias, Union

import keras
from keras import ops

from ...system.backend import chosen_backend
from ...system.device import sees_gpu
from ...system.types import Json, Tensor

# An array of all tokens, or a list with one array per width of their rows.
Parts: TypeAlias = Union[Tensor, "list[Tensor]"]
# A function that sets some numbers to zero in a training step.
Drop: TypeAlias = Callable[[Tensor], Tensor]

# The score of tokens that are masked; float16 can hold it.
MASKED_SCORE = -30_000.0
# Tokens of a row from which on its scores are several times the bytes of what they are computed of.
FUSED_FROM = 512
# One hidden unit in this many keeps 8 bits. In a trained encoder a few units cause most of the error of 4 bits.
WIDE_SHARE = 4


def compute_gelu(x: Tensor) -> Tensor:
    """Compute x times the probability that a normal number is below x: exactly, in two passes fewer than Keras takes.

    Hendrycks and Gimpel (2016), Gaussian error linear units.
    """
    half = x * 0.5
    return half + half * ops.erf(x * 0.5**0.5)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": compute_gelu,
    "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
    "relu": ops.relu,
}


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Split the heads: `(b, t, heads * s)` -> `(b, heads, t, s)`."""
    x = ops.reshape(x, (*ops.shape(x)[:2], heads, x.shape[-1] // heads))
    return ops.transpose(x, (0, 2, 1, 3))


def compute_attention(query: Tensor, key: Tensor, value: Tensor, looks: Tensor, drop: Drop | None = None) -> Tensor:
    """Compute each token's mean of the values that it attends to, `(b, t, h * s)`, from heads `(b, h, t, s)`.

    `looks` says which tokens attend to each other, bool `(b, t, t)` or `(b, 1, t)`; `drop` is applied to the weights.
    """
    _, heads, tokens, size = ops.shape(query)
    # The queries are divided, not the scores, as there are more of these.
    scores = ops.matmul(query / query.shape[-1] ** 0.5, ops.transpose(key, (0, 1, 3, 2)))  # (b, h, t, t)
    scores = ops.where(looks[:, None], ops.cast(scores, "float32"), MASKED_SCORE)
    weights = drop(ops.softmax(scores)) if drop else ops.softmax(scores)
    means = ops.matmul(ops.cast(weights, value.dtype), value)  # (b, h, t, s)
    return ops.reshape(ops.transpose(means, (0, 2, 1, 3)), (-1, tokens, heads * size))


def has_fused_attention(tokens: int) -> bool:
    """Return True if Keras has a kernel of the device for attention in rows of so many tokens, and they are long."""
    return tokens >= FUSED_FROM and sees_gpu(chosen_backend()) and _runs_fused()


@cache
def _runs_fused():
    """Try the kernel, forward and backward: whether it exists hangs on the device and on its libraries' versions."""
    if chosen_backend() != "jax":
        return False
    import jax

    x, looks = ops.ones((1, FUSED_FROM, 1, 32), "bfloat16"), ops.ones((1, 1, FUSED_FROM, FUSED_FROM), "bool")
    try:
        loss = jax.grad(lambda x: ops.sum(ops.dot_product_attention(x, x, x, mask=looks, flash_attention=True)))
        return bool(ops.all(ops.isfinite(jax.jit(loss)(x))))
    except Exception:  # Keras's own, cuDNN's, and the compiler's: what is in place of it always runs
        return False


def compute_fused_attention(query: Tensor, key: Tensor, value: Tensor, looks: Tensor) -> Tensor:
    """Compute what `compute_attention` does by a kernel of the device, which keeps no scores in memory.

    Dao et al. (2022), FlashAttention: fast and memory-efficient exact attention with IO-awareness.
    """
    heads = [ops.transpose(part, (0, 2, 1, 3)) for part in (query, key, value)]
    means = ops.dot_product_attention(*heads, mask=looks[:, None])  # (b, t, h, s)
    return ops.reshape(means, (*ops.shape(means)[:2], -1))


def split_rows(x: Tensor, groups: Sequence[Tensor]) -> list[Tensor]:
    """Split flat tokens into the rows of groups, whose first axes are `(r, w)` and which follow each other."""
    parts, begin, rest = [], 0, ops.shape(x)[1:]
    for group in groups:
        rows, width = ops.shape(group)[:2]
        # No x[begin:end], and no slice for one group: on TensorFlow its gradient is slow, and that of x[] is slowest.
        part = ops.slice(x, (begin, *(0 for _ in rest)), (rows * width, *rest)) if len(groups) > 1 else x
        parts.append(ops.reshape(part, (rows, width, *rest)))
        begin = begin + rows * width
    return parts


@keras.saving.register_keras_serializable("distill")
class Positions(keras.layers.Layer):
    """Embeddings plus those of their positions, normalised: `(b, t, w)` and places int32 `(b, t)` -> `(b, t, w)`.

    Places beyond `size` count as the last one. The embedding of BERT's first segment is part of each position's.
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
    """A block of attention and a feed-forward network, each normalised with its residual.

    In mixed precision the dense layers compute in 16 bits, and on a GPU the whole block (`Student.mixed_layers`).

    The inputs are tokens `(b, t, w)`, the mask of tokens that attend to each other, bool `(b, t, t)` or `(b, 1, t)`,
    and places; the output is `(b, t, w)`. Tokens may also be flat, `(t, w)`, with lists of masks `(r, v, v)` and of
    places `(r, v)`, one per width of rows, since only attention needs the rows. `activation` is a key of `ACTIVATIONS`.
    """

    # Set within a training step with dropout alone, and applied where BERT has it (Devlin et al., 2019, appendix A.2).
    drop: Drop | None = None

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
        return keras.layers.Dense(units, name=name)

    def make_norm(self, name: str) -> keras.layers.LayerNormalization:
        return keras.layers.LayerNormalization(epsilon=self.epsilon, name=name)

    def build(self, x_shape: Sequence[int], looks_shape: Sequence[int] | None = None) -> None:
        width = x_shape[-1]
        self.attention = self.make_dense(width, "attention")
        self.second = self.make_dense(width, "second")
        for layer in (*self.qkv_layers, *self.unit_layers, self.attention_norm, self.norm):
            layer.build(x_shape)
        self.attention.build((*x_shape[:-1], self.heads * self.head_size))
        self.second.build((*x_shape[:-1], self.inner))

    def call(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        return self.add_units(self.add_attention(x, looks, places))

    def add_attention(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        """Add the attention of tokens to them. Returns the tokens `(b, t, w)`. `x` are the tokens `(b, t, w)`."""
        return self.attention_norm(x + self.drop_units(self.attention(self.attend_parts(x, looks, places)), x.dtype))

    def attend_parts(self, x: Tensor, looks: Parts, places: Parts) -> Tensor:
        """Compute the attention of tokens `(b, t, w)`, or of flat ones `(t, w)`, part by part in their rows."""
        if not isinstance(places, list):
            return self.attend(x, looks, places)
        means = [self.attend(*part) for part in zip(split_rows(x, places), looks, places, strict=True)]
        return ops.concatenate([ops.reshape(part, (-1, part.shape[-1])) for part in means])

    def add_units(self, x: Tensor) -> Tensor:
        """Add the output of the feed-forward network to tokens `(b, t, w)`, and normalise them."""
        return self.norm(self.sum_units(x))

    def sum_units(self, x: Tensor) -> Tensor:
        """Add the output of the feed-forward network to tokens `(b, t, w)`."""
        return x + self.drop_units(self.second(self.compute_units(x)), x.dtype)

    def drop_units(self, x: Tensor, dtype: str) -> Tensor:
        """Apply dropout to what is added to the tokens, and cast it to their type."""
        return ops.cast(self.drop(x) if self.drop else x, dtype)

    def copy_final_norm(self, other: Block) -> None:
        """Copy the weights of the normalisation behind another block's hidden units."""
        self.norm.set_weights(other.norm.get_weights())

    @property
    def denses(self) -> list[keras.layers.Dense]:
        # Keras names the weights in a saved encoder after this property: with another name old files are not read.
        return [*self.qkv_layers, self.attention, *self.unit_layers, self.second]

    @property
    def wide_units(self) -> int:
        """The number of hidden units, the first ones, whose weights an export in int4 stores in 8 bits."""
        return self.inner // WIDE_SHARE

    @property
    def unit_layers(self) -> list[keras.layers.Dense]:
        """The dense layers that compute the hidden units."""
        return [self.first]

    def compute_units(self, x: Tensor) -> Tensor:
        """Compute the hidden units of tokens after attention, `(b, t, inner)`."""
        return ACTIVATIONS[self.activation](ops.cast(self.first(x), x.dtype))

    @property
    def qkv_layers(self) -> list[keras.layers.Dense]:
        """The dense layers of query, key and value."""
        return [self.query, self.key, self.value]

    def normalize_inputs(self, x: Tensor) -> Tensor:
        """Return tokens `(b, t, w)` in the form that `qkv_layers` read."""
        return x

    def attend(self, x: Tensor, looks: Tensor, places: Tensor) -> Tensor:
        """Compute each token's mean of the values that it attends to, `(b, t, heads * head_size)`."""
        query, key, value = self.project_inputs(x)
        fits = self.compute_dtype != "float32" and looks.shape[-1] is not None and not self.drop
        if fits and has_fused_attention(looks.shape[-1]):
            return compute_fused_attention(query, key, value, looks)
        return compute_attention(query, key, value, looks, self.drop)

    def project_inputs(self, x: Tensor) -> list[Tensor]:
        """Compute queries, keys and values `(b, h, t, s)`: one product where the whole block computes in 16 bits."""
        if self.compute_dtype == "float32":
            return [split_heads(layer(x), self.heads) for layer in self.qkv_layers]
        joined = ops.matmul(x, ops.concatenate([layer.kernel for layer in self.qkv_layers], axis=1))
        if self.query.use_bias:
            joined = joined + ops.concatenate([layer.bias for layer in self.qkv_layers])
        return [split_heads(part, self.heads) for part in ops.split(joined, 3, axis=-1)]

    def compute_output_shape(
        self, x_shape: Sequence[int | None], looks_shape: Sequence[int | None] | None = None
    ) -> tuple[int | None, ...]:
        return tuple(x_shape)

    def get_config(self) -> dict[str, Json]:
        names = ("heads", "head_size", "inner", "epsilon", "activation")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
