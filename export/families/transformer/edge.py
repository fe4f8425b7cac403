"""The encoder as an artefact computes it: one text, tokens by channels, weights in the artefact's precision."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ....students.student import unit
from ....students.transformer.block import ACTIVATIONS, FAR, Block
from ....students.transformer.network import TransformerEncoder
from ....system.types import Tensor
from ...tflite.layers import DENSE, Norm, Padding, Table, apart, unpadded
from ...weights.precision import Precision
from ...weights.rewrite import factor_of, projection_of

# The converter knows Keras's form of it as one operator.
EDGE_ACTIVATIONS = {**ACTIVATIONS, "gelu": lambda x: ops.gelu(x, approximate=False)}


class EdgeEncoder(keras.layers.Layer):
    """ids `(t,)` -> `(1, d)`: what `TransformerEncoder` computes, of one text; `padding` is None, masked or sliced."""

    def __init__(self, model: TransformerEncoder, precision: Precision, padding: Padding = None, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.padding, self.dimension, self.pooling = padding, model.dimension, model.pooling
        # What is there once is worth its 8 bits.
        dense, factor = DENSE["float32" if precision.dense == "float32" else "int8"], factor_of(model)
        projection = projection_of(model)
        self.table = Table(model.get_layer("embedding").get_weights()[0], precision, name="table")
        self.factor = None if factor is None else dense(factor, name="factor")
        placed = model.get_layer("positions")
        # A row a token is read, so that eight bits a number cost nothing.
        codec = "float32" if precision.dense == "float32" else "uint8"
        self.positions = Table(np.asarray(placed.embeddings), Precision(precision.dense, codec), name="positions")
        self.norm, self.most = Norm(placed.norm, name="norm"), placed.size - 1
        self.blocks = [EdgeBlock(block, precision, name=block.name) for block in model.blocks]
        self.activation = keras.activations.get(model.dense)
        behind = model.get_layer("dense") if model.dense else None
        self.dense = behind and dense(behind.kernel, behind.bias, name="dense")
        self.projection = None if projection is None else dense(projection, name="projection")

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int, int]:
        return (1, self.dimension)

    def call(self, ids: Tensor) -> Tensor:
        ids = unpadded(ids) if self.padding == "sliced" else ids
        there = ops.cast(ops.greater_equal(ids, 0), "float32")  # (t,)
        masked = self.padding == "masked"
        x = self.table(ops.maximum(ids, 0) if masked else ids)  # (t, w)
        x = self.factor(x) if self.factor else x
        places = ops.cumsum(ops.cast(ops.greater_equal(ids, 0), "int32")) - 1
        x = self.norm(x + self.positions(ops.minimum(places, self.most)))
        far = (there - 1)[None, None] * -FAR if masked else None  # (1, 1, t)
        for block in self.blocks:
            x = block(x, far)
        return self.finished(POOLED[self.pooling](x, there[:, None], masked))

    def finished(self, pooled: Tensor) -> Tensor:
        """The vector `(1, d)` of a text's pooled tokens `(1, w)`."""
        if self.dense:
            pooled = self.activation(self.dense(pooled))
        # Its length changes no direction.
        return unit(self.projection(apart(pooled)) if self.projection else pooled)


class EdgeBlock(keras.layers.Layer):
    """`Block` of one text: `(t, w)` -> `(t, w)`, with what is added to the scores of padding, `(1, 1, t)` or None."""

    def __init__(self, block: Block, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        dense, self.heads, self.size = DENSE[precision.dense], block.heads, block.head_size
        kernels = [np.asarray(layer.kernel) for layer in (block.query, block.key, block.value)]
        biases = [np.asarray(layer.bias) for layer in (block.query, block.key, block.value)]
        # The scores' divisor is a factor of the query: a column's scale takes it, and nothing is rounded otherwise.
        kernels[0], biases[0] = (array / np.sqrt(np.float32(self.size)) for array in (kernels[0], biases[0]))
        self.looked = dense(np.concatenate(kernels, axis=1), np.concatenate(biases), name="looked")
        self.attention = dense(block.attention.kernel, block.attention.bias, name="attention")
        # Few inputs of it are hundreds of times as large as others: in 4 bits passages lost most by it.
        wide = DENSE["float32" if precision.dense == "float32" else "int8"]
        self.first = wide(block.first.kernel, block.first.bias, name="first")
        self.second = dense(block.second.kernel, block.second.bias, name="second")
        self.attention_norm, self.norm = (Norm(getattr(block, name), name=name) for name in ("attention_norm", "norm"))
        self.activation = EDGE_ACTIVATIONS[block.activation]

    def call(self, x: Tensor, far: Tensor | None) -> Tensor:
        x = self.attention_norm(x + self.attention(self.attend(x, far)))
        return self.norm(x + self.second(self.activation(self.first(apart(x)))))

    def attend(self, x: Tensor, far: Tensor | None) -> Tensor:
        """Each token's mean of the values that it looks at, `(t, heads * size)`."""
        # A normalisation's gains in a kernel put it off its grid. `apart` costs no time that can be measured, and the
        # bundle of multilingual-e5-small came from a mean cosine of .9992 to .9996 by it.
        heads = ops.reshape(self.looked(apart(x)), (-1, 3 * self.heads, self.size))
        heads = ops.transpose(heads, (1, 0, 2))  # (3 h, t, s)
        query, key, value = (heads[place * self.heads : (place + 1) * self.heads] for place in range(3))
        scores = ops.matmul(query, ops.transpose(key, (0, 2, 1)))  # (h, t, t)
        scores = scores if far is None else scores + far
        means = ops.transpose(ops.matmul(ops.softmax(scores), value), (1, 0, 2))  # (t, h, s)
        return ops.reshape(means, (-1, self.heads * self.size))


def _mean(x, there, masked):
    total = ops.sum(x * there if masked else x, axis=0, keepdims=True)
    return total / ops.sum(there, axis=0, keepdims=True)


def _largest(x, there, masked):
    return ops.max(x + (there - 1) * -FAR if masked else x, axis=0, keepdims=True)


# Tokens `(t, w)` and which of them are there, `(t, 1)` -> `(1, w)`.
POOLED = {"mean": _mean, "first": lambda x, there, masked: x[:1], "max": _largest}
