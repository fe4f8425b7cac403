"""BERT's block and positions as an artefact computes them, for one text."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ....students.transformer.block import ACTIVATIONS, Block, Positions
from ....students.transformer.network import TransformerEncoder
from ....system.types import Floats, Tensor
from ...tflite.layers import DENSE, Dense, MixedDense, Norm, Table, keep_apart
from ...weights.precision import Precision

# The converter recognises Keras's form of it and makes it one operator.
EDGE_ACTIVATIONS = {**ACTIVATIONS, "gelu": lambda x: ops.gelu(x, approximate=False)}


def int8_dense(precision: Precision) -> Dense:
    """Return the class of layers that stay in 8 bits while others have 4. See `TransformerEncoder.narrow_kernels`."""
    return DENSE["float32" if precision.dense == "float32" else "int8"]


def make_second(block: Block, precision: Precision) -> keras.layers.Layer:
    """Build the layer behind the hidden units, of which `wide_units` of a block keep 8 bits while others have 4.

    Returns a layer `(t, inner)` -> `(t, w)`.
    """
    kernel, bias = block.second.kernel, block.second.bias
    if precision.dense == "int4" and block.wide_units:
        return MixedDense(kernel, bias, block.wide_units, name="second")
    return DENSE[precision.dense](kernel, bias, name="second")


def split_heads(x: Tensor, heads: int, size: int) -> Tensor:
    """Split queries, keys and values by head. Returns a float array `(3 * heads, t, size)`.

    Args:
        x: Float array `(t, 3 * heads * size)`.
    """
    return ops.transpose(ops.reshape(x, (-1, 3 * heads, size)), (1, 0, 2))


def compute_attention(query: Tensor, key: Tensor, value: Tensor, far: Tensor | None) -> Tensor:
    """Compute dot-product attention: each token's weighted mean of the values. Returns a float array `(t, h * s)`.

    Args:
        query: Float array `(h, t, s)`, already divided by the root of s.
        key: Float array `(h, t, s)`.
        value: Float array `(h, t, s)`.
        far: Added to the scores, broadcast to `(h, t, t)`; or None.
    """
    scores = ops.matmul(query, ops.transpose(key, (0, 2, 1)))  # (h, t, t)
    scores = scores if far is None else scores + far
    means = ops.transpose(ops.matmul(ops.softmax(scores), value), (1, 0, 2))  # (t, h, s)
    return ops.reshape(means, (-1, query.shape[0] * query.shape[2]))


def join_attention_inputs(block: Block, kind: str) -> Floats:
    """Concatenate the kernels, or the biases, of query, key and value.

    The divisor of the scores is merged into the query, where a column's scale absorbs it and nothing is rounded
    differently. `kind` is "kernel" or "bias". Returns a float32 array `(w, 3 * heads * size)`, or `(3 * heads * size,)`
    of biases.
    """
    query, key, value = (np.asarray(getattr(layer, kind)) for layer in (block.query, block.key, block.value))
    return np.concatenate([query / np.sqrt(np.float32(block.head_size)), key, value], axis=-1)


class EdgePositions(keras.layers.Layer):
    """Computes for one text what `Positions` does: `(t, w)` and positions `(t,)` -> `(t, w)`.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, placed: Positions, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        # Only one row per token is read, so 8 bits per number cost no time.
        codec = "float32" if precision.dense == "float32" else "uint8"
        self.table = Table(np.asarray(placed.embeddings), Precision(precision.dense, codec), name="table")
        self.norm, self.most = Norm(placed.norm, name="norm"), placed.size - 1

    def call(self, x: Tensor, places: Tensor) -> Tensor:
        return self.norm(x + self.table(ops.minimum(places, self.most)))


class PaddingMask:
    """Makes each block's input beside the tokens: what is added to the scores of padding."""

    def __init__(self, model: TransformerEncoder) -> None:
        self.depth = model.depth

    def __call__(self, places: Tensor, far: Tensor | None) -> Sequence[tuple[Tensor | None]]:
        return [(far,)] * self.depth


class EdgeBlock(keras.layers.Layer):
    """Computes for one text what `Block` does, `(t, w)` -> `(t, w)`; it takes what is added to the scores too."""

    def __init__(self, block: Block, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        dense, self.heads, self.size = int8_dense(precision), block.heads, block.head_size
        looked = (join_attention_inputs(block, kind) for kind in ("kernel", "bias"))
        self.looked = DENSE[precision.dense](*looked, name="looked")
        self.attention = dense(block.attention.kernel, block.attention.bias, name="attention")
        self.first = dense(block.first.kernel, block.first.bias, name="first")
        self.second = make_second(block, precision)
        self.attention_norm, self.norm = (Norm(getattr(block, name), name=name) for name in ("attention_norm", "norm"))
        self.activation = EDGE_ACTIVATIONS[block.activation]

    def call(self, x: Tensor, far: Tensor | None) -> Tensor:
        x = self.attention_norm(x + self.attention(self.attend(x, far)))
        return self.norm(x + self.second(self.activation(self.first(keep_apart(x)))))

    def attend(self, x: Tensor, far: Tensor | None) -> Tensor:
        """Compute self-attention. Returns a float array `(t, heads * size)`.

        Args:
            far: Added to the scores, `(1, 1, t)`, or None.
        """
        # If the converter merged the normalisation's gains into the kernel, it would leave its grid. `keep_apart`
        # prevents that in no measurable time. It raised the mean cosine of multilingual-e5-small's bundle from .9992
        # to .9996.
        heads = split_heads(self.looked(keep_apart(x)), self.heads, self.size)
        query, key, value = (heads[place * self.heads : (place + 1) * self.heads] for place in range(3))
        return compute_attention(query, key, value, far)
