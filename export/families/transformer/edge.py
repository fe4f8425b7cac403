"""A transformer as an artefact computes it: one text, tokens by channels, weights in the artefact's precision."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ....students.student import scale_to_unit
from ....students.transformer.block import MASKED_SCORE
from ....students.transformer.modern import ModernBlock, Rows, compute_frequencies
from ....students.transformer.network import TransformerEncoder
from ....students.transformer.pooling import require_bundled
from ....system.types import Tensor
from ...tflite.layers import DENSE, Norm, Padding, Table, keep_apart, remove_padding
from ...weights.precision import Precision
from ...weights.rewrite import factor_of, projection_of
from .edge_bert import (
    EDGE_ACTIVATIONS,
    EdgeBlock,
    EdgePositions,
    PaddingMask,
    compute_attention,
    int8_dense,
    join_attention_inputs,
    make_second,
    split_heads,
)


class EdgeRows(keras.layers.Layer):
    """Computes for one text what `Rows` does, `(t, w)` -> `(t, w)`.

    Args:
        precision: Not used; blocks of both kinds have the same arguments.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, rows: Rows, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.norm = Norm(rows.norm, name="norm")

    def call(self, x: Tensor, places: Tensor) -> Tensor:
        return self.norm(x)


class Rotations:
    """Makes each block's inputs beside the tokens: what is added to its scores, and its rotary position embeddings.

    The latter are cosines and sines `(t, s / 2)`, computed once per graph.
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


class EdgeModernBlock(keras.layers.Layer):
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
        """Compute self-attention with rotary position embeddings. Returns a float array `(t, heads * size)`.

        Args:
            x: Tokens `(t, w)`.
            far: Added to the scores, or None.
            cosine: Cosines of the angles, `(t, s / 2)`.
            sine: Sines of the angles, `(t, s / 2)`.
        """
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


class EdgeEncoder(keras.layers.Layer):
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
