"""BERT's block and positions as an artefact computes them, of one text."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ....students.transformer.block import ACTIVATIONS, Block, Positions
from ....students.transformer.network import TransformerEncoder
from ....system.types import Floats, Tensor
from ...tflite.layers import DENSE, Dense, MixedDense, Norm, Table, apart
from ...weights.precision import Precision

# The converter knows Keras's form of it as one operator.
EDGE_ACTIVATIONS = {**ACTIVATIONS, "gelu": lambda x: ops.gelu(x, approximate=False)}


def wide_dense(precision: Precision) -> Dense:
    """The class of the layers that stay in 8 bits where others have 4, see `TransformerEncoder.narrow_kernels`."""
    return DENSE["float32" if precision.dense == "float32" else "int8"]


def make_second(block: Block, precision: Precision) -> keras.layers.Layer:
    """Return the layer behind the hidden units, of which a block's `wide_units` keep 8 bits where others have 4."""
    kernel, bias = block.second.kernel, block.second.bias
    if precision.dense == "int4" and block.wide_units:
        return MixedDense(kernel, bias, block.wide_units, name="second")
    return DENSE[precision.dense](kernel, bias, name="second")


def by_head(x: Tensor, heads: int, size: int) -> Tensor:
    """Queries, keys and values, `(t, 3 * heads * size)`, as `(3 * heads, t, size)`."""
    return ops.transpose(ops.reshape(x, (-1, 3 * heads, size)), (1, 0, 2))


def look(query: Tensor, key: Tensor, value: Tensor, far: Tensor | None) -> Tensor:
    """Each token's mean of the values that it looks at: `(h, t, s)` three times -> `(t, h * s)`.

    `far` is what is added to the scores, of a shape that goes with `(h, t, t)`, or None.
    """
    scores = ops.matmul(query, ops.transpose(key, (0, 2, 1)))  # (h, t, t)
    scores = scores if far is None else scores + far
    means = ops.transpose(ops.matmul(ops.softmax(scores), value), (1, 0, 2))  # (t, h, s)
    return ops.reshape(means, (-1, query.shape[0] * query.shape[2]))


def join_looked(block: Block, kind: str) -> Floats:
    """The kernels, or the biases, of query, key and value side by side.

    The scores' divisor is a factor of the query: a column's scale takes it, and nothing is rounded otherwise.
    """
    query, key, value = (np.asarray(getattr(layer, kind)) for layer in (block.query, block.key, block.value))
    return np.concatenate([query / np.sqrt(np.float32(block.head_size)), key, value], axis=-1)


class EdgePositions(keras.layers.Layer):
    """`Positions` of one text: `(t, w)` and places `(t,)` -> `(t, w)`."""

    def __init__(self, placed: Positions, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        # A row a token is read, so that eight bits a number cost nothing.
        codec = "float32" if precision.dense == "float32" else "uint8"
        self.table = Table(np.asarray(placed.embeddings), Precision(precision.dense, codec), name="table")
        self.norm, self.most = Norm(placed.norm, name="norm"), placed.size - 1

    def call(self, x: Tensor, places: Tensor) -> Tensor:
        return self.norm(x + self.table(ops.minimum(places, self.most)))


class PaddingMask:
    """For each block of `model` the inputs beside the tokens: what is added to the scores of padding."""

    def __init__(self, model: TransformerEncoder) -> None:
        self.depth = model.depth

    def __call__(self, places: Tensor, far: Tensor | None) -> Sequence[tuple[Tensor | None]]:
        return [(far,)] * self.depth


class EdgeBlock(keras.layers.Layer):
    """`Block` of one text: `(t, w)` -> `(t, w)`, with what is added to the scores of padding, `(1, 1, t)` or None."""

    def __init__(self, block: Block, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        dense, self.heads, self.size = wide_dense(precision), block.heads, block.head_size
        looked = (join_looked(block, kind) for kind in ("kernel", "bias"))
        self.looked = DENSE[precision.dense](*looked, name="looked")
        self.attention = dense(block.attention.kernel, block.attention.bias, name="attention")
        self.first = dense(block.first.kernel, block.first.bias, name="first")
        self.second = make_second(block, precision)
        self.attention_norm, self.norm = (Norm(getattr(block, name), name=name) for name in ("attention_norm", "norm"))
        self.activation = EDGE_ACTIVATIONS[block.activation]

    def call(self, x: Tensor, far: Tensor | None) -> Tensor:
        x = self.attention_norm(x + self.attention(self.attend(x, far)))
        return self.norm(x + self.second(self.activation(self.first(apart(x)))))

    def attend(self, x: Tensor, far: Tensor | None) -> Tensor:
        """Each token's mean of the values that it looks at, `(t, heads * size)`."""
        # A normalisation's gains in a kernel put it off its grid. `apart` costs no time that can be measured, and the
        # bundle of multilingual-e5-small came from a mean cosine of .9992 to .9996 by it.
        heads = by_head(self.looked(apart(x)), self.heads, self.size)
        query, key, value = (heads[place * self.heads : (place + 1) * self.heads] for place in range(3))
        return look(query, key, value, far)
