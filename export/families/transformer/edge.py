"""A transformer as an artefact computes it: one text, tokens by channels, weights in the artefact's precision."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ....students.student import scale_to_unit
from ....students.transformer.block import ACTIVATIONS, MASKED_SCORE, Block, Positions
from ....students.transformer.modern import ModernBlock, Rows, compute_frequencies
from ....students.transformer.network import TransformerEncoder
from ....students.transformer.pooling import require_bundled
from ....system.types import Floats, Tensor
from ...tflite.layers import DENSE, Dense, EdgeLayer, MixedDense, Norm, Padding, Table, keep_apart, remove_padding
from ...weights.precision import Precision
from ...weights.rewrite import factor_of, projection_of

# The converter recognises Keras's form of it and makes it one operator.
EDGE_ACTIVATIONS = {**ACTIVATIONS, "gelu": lambda x: ops.gelu(x, approximate=False)}


def int8_dense(precision: Precision) -> Dense:
    """Return the class of layers that stay in 8 bits while others have 4. See `TransformerEncoder.narrow_kernels`."""
    return DENSE["float32" if precision.dense == "float32" else "int8"]


def make_second(block: Block, precision: Precision) -> keras.layers.Layer:
    """Build the layer behind the hidden units, of which `wide_units` of a block keep 8 bits while others have 4."""
    kernel, bias = block.second.kernel, block.second.bias
    if precision.dense == "int4" and block.wide_units:
        return MixedDense(kernel, bias, block.wide_units, name="second")
    return DENSE[precision.dense](kernel, bias, name="second")


def split_heads(x: Tensor, heads: int, size: int) -> Tensor:
    """Split queries, keys and values by head: `(t, 3 * heads * size)` -> `(3 * heads, t, size)`."""
    return ops.transpose(ops.reshape(x, (-1, 3 * heads, size)), (1, 0, 2))


def compute_attention(query: Tensor, key: Tensor, value: Tensor, far: Tensor | None) -> Tensor:
    """Compute each token's weighted mean of the values, `(t, h * s)`, from queries, keys and values `(h, t, s)`.

    The queries are already divided by the root of s. `far` is added to the scores, broadcast to `(h, t, t)`.
    """
    scores = ops.matmul(query, ops.transpose(key, (0, 2, 1)))  # (h, t, t)
    scores = scores if far is None else scores + far
    means = ops.transpose(ops.matmul(ops.softmax(scores), value), (1, 0, 2))  # (t, h, s)
    return ops.reshape(means, (-1, query.shape[0] * query.shape[2]))


def join_attention_inputs(block: Block, kind: str) -> Floats:
    """Concatenate the kernels, or the biases, of query, key and value: `(w, 3 * heads * size)`, or without w.

    The divisor of the scores is merged into the query, where a column's scale absorbs it and nothing is rounded
    differently.
    """
    query, key, value = (np.asarray(getattr(layer, kind)) for layer in (block.query, block.key, block.value))
    return np.concatenate([query / np.sqrt(np.float32(block.head_size)), key, value], axis=-1)


class EdgePositions(EdgeLayer):
    """Computes for one text what `Positions` does: `(t, w)` and positions `(t,)` -> `(t, w)`."""

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


class EdgeBlock(EdgeLayer):
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
        """Compute self-attention, `(t, heads * size)`; `far` is added to the scores."""
        # If the converter merged the normalisation's gains into the kernel, it would leave its grid. `keep_apart`
        # prevents that in no measurable time. It raised the mean cosine of multilingual-e5-small's bundle from .9992
        # to .9996.
        heads = split_heads(self.looked(keep_apart(x)), self.heads, self.size)
        query, key, value = (heads[place * self.heads : (place + 1) * self.heads] for place in range(3))
        return compute_attention(query, key, value, far)


class EdgeRows(EdgeLayer):
    """Computes for one text what `Rows` does, `(t, w)` -> `(t, w)`; blocks of other kinds use `precision`."""

    def __init__(self, rows: Rows, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.norm = Norm(rows.norm, name="norm")

    def call(self, x: Tensor, places: Tensor) -> Tensor:
        return self.norm(x)


class Rotations:
    """Makes each block's inputs beside the tokens: what is added to its scores, and its rotary position embeddings,
    cosines and sines `(t, s / 2)`, computed once per graph.
    """

    def __init__(self, model: TransformerEncoder) -> None:
        self.blocks, self.window, self.size = model.blocks, model.window, model.head_size

    def __call__(self, places: Tensor, far: Tensor | None) -> Sequence[tuple[Tensor | None, Tensor, Tensor]]:
        near, places = far, ops.cast(places, "float32")
        if any(block.window is not None for block in self.blocks):
            near = self._window_penalty(places) if far is None else self._window_penalty(places) + far
        turns = {theta: self._rotary_embeddings(theta, places) for theta in {block.theta for block in self.blocks}}
        return [(far if block.window is None else near, *turns[block.theta]) for block in self.blocks]

    def _window_penalty(self, places):
        """Return the penalty of tokens beyond the window, `(1, t, t)`, with operators that old runtimes have."""
        here, there = ops.expand_dims(places, 1), ops.expand_dims(places, 0)
        way = ops.maximum(here - there, there - here)
        return ops.expand_dims(ops.maximum(way - self.window, 0.0) * MASKED_SCORE, 0)

    def _rotary_embeddings(self, theta, places):
        angles = ops.expand_dims(places, 1) * compute_frequencies(theta, self.size)
        return ops.cos(angles), ops.sin(angles)


class EdgeModernBlock(EdgeLayer):
    """Computes for one text what `ModernBlock` does, `(t, w)` -> `(t, w)`, with the inputs that `Rotations` makes."""

    def __init__(self, block: ModernBlock, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        dense, self.heads, self.size, self.inner = int8_dense(precision), block.heads, block.head_size, block.inner
        self.looked = DENSE[precision.dense](join_attention_inputs(block, "kernel"), name="looked")
        self.attention = dense(block.attention.kernel, name="attention")
        kernels = [np.asarray(layer.kernel) for layer in block.unit_layers]
        self.first = dense(np.concatenate(kernels, axis=1), name="first")
        self.second = make_second(block, precision)
        self.attention_norm = Norm(block.attention_norm, name="attention_norm") if block.normed else None
        self.norm = Norm(block.norm, name="norm")
        self.activation = EDGE_ACTIVATIONS[block.activation]

    def call(self, x: Tensor, far: Tensor | None, cosine: Tensor, sine: Tensor) -> Tensor:
        x = x + self.attention(self.attend(x, far, cosine, sine))
        both = self.first(keep_apart(self.norm(x)))
        return x + self.second(self.activation(both[:, : self.inner]) * both[:, self.inner :])

    def attend(self, x: Tensor, far: Tensor | None, cosine: Tensor, sine: Tensor) -> Tensor:
        """Compute self-attention with rotary position embeddings, cosines and sines `(t, s / 2)`."""
        x = self.attention_norm(x) if self.attention_norm else x
        heads = split_heads(self.looked(keep_apart(x)), self.heads, self.size)  # (3 h, t, s)
        half, turned = self.size // 2, 2 * self.heads
        first, second = heads[:turned, :, :half], heads[:turned, :, half:]
        both = ops.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
        return compute_attention(both[: self.heads], both[self.heads :], heads[turned:], far)


# The layer behind the table, the blocks, and their inputs beside the tokens, by the kind of a network's blocks.
POSITION_LAYERS: dict[str, type[keras.layers.Layer]] = {"bert": EdgePositions, "modern": EdgeRows}
BLOCKS: dict[str, type[keras.layers.Layer]] = {"bert": EdgeBlock, "modern": EdgeModernBlock}
BLOCK_INPUTS: dict[str, type[PaddingMask | Rotations]] = {"bert": PaddingMask, "modern": Rotations}


class EdgeEncoder(EdgeLayer):
    """Computes for one text what `TransformerEncoder` does, ids `(t,)` -> `(1, d)`."""

    def __init__(self, model: TransformerEncoder, precision: Precision, padding: Padding = None, **kwargs: str) -> None:
        require_bundled(model.pooling, model.dense)
        super().__init__(**kwargs)
        self.padding, self.dimension, self.pooling = padding, model.dimension, model.pooling
        # Layers that occur once are small, so they keep 8 bits.
        dense, factor, projection = int8_dense(precision), factor_of(model), projection_of(model)
        self.table = Table(model.get_layer("embedding").get_weights()[0], precision, name="table")
        self.factor = None if factor is None else dense(factor, name="factor")
        self.placed = POSITION_LAYERS[model.block](model.get_layer("positions"), precision, name="positions")
        self.blocks = [BLOCKS[model.block](block, precision, name=block.name) for block in model.blocks]
        self.around = BLOCK_INPUTS[model.block](model)
        self.final_norm = Norm(model.final_norm, name="final_norm") if model.final_norm else None
        self.activation = keras.activations.get(model.dense)
        behind = model.get_layer("dense") if model.dense else None
        self.dense = behind and dense(behind.kernel, behind.bias, name="dense")
        self.projection = None if projection is None else dense(projection, name="projection")

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int, int]:
        return (1, self.dimension)

    def call(self, ids: Tensor) -> Tensor:
        ids = remove_padding(ids) if self.padding == "sliced" else ids
        there = ops.cast(ops.greater_equal(ids, 0), "float32")  # (t,)
        masked = self.padding == "masked"
        x = self.table(ops.maximum(ids, 0) if masked else ids)  # (t, w)
        x = self.factor(x) if self.factor else x
        places = ops.cumsum(ops.cast(ops.greater_equal(ids, 0), "int32")) - 1
        x = self.placed(x, places)
        far = (there - 1)[None, None] * -MASKED_SCORE if masked else None  # (1, 1, t)
        for block, around in zip(self.blocks, self.around(places, far), strict=True):
            x = block(x, *around)
        x = self.final_norm(x) if self.final_norm else x
        return self.finish(POOLINGS[self.pooling](x, there[:, None], masked))

    def finish(self, pooled: Tensor) -> Tensor:
        """Return the vector `(1, d)` of a text's pooled tokens `(1, w)`."""
        if self.dense:
            pooled = self.activation(self.dense(pooled))
        # The projection is linear, so the length of its input does not matter.
        return scale_to_unit(self.projection(keep_apart(pooled)) if self.projection else pooled)


def _mean(x, there, masked):
    total = ops.sum(x * there if masked else x, axis=0, keepdims=True)
    return total / ops.sum(there, axis=0, keepdims=True)


def _max(x, there, masked):
    return ops.max(x + (there - 1) * -MASKED_SCORE if masked else x, axis=0, keepdims=True)


# Functions from tokens `(t, w)`, and 1 for those that are not padding `(t, 1)`, to one row `(1, w)`.
POOLINGS = {"mean": _mean, "first": lambda x, there, masked: x[:1], "max": _max}
