"""A transformer as an artefact computes it: one text, tokens by channels, weights in the artefact's precision."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from ....students.student import scale_to_unit
from ....students.transformer.block import MASKED_SCORE
from ....students.transformer.network import TransformerEncoder
from ....students.transformer.pooling import require_bundled
from ....system.types import Tensor
from ...tflite.layers import Norm, Padding, Table, keep_apart, remove_padding
from ...weights.precision import Precision
from ...weights.rewrite import factor_of, projection_of
from .edge_bert import EdgeBlock, EdgePositions, PaddingMask, int8_dense
from .edge_modern import EdgeModernBlock, EdgeRows, Rotations

# The layer behind the table, the blocks, and their inputs beside the tokens, by the kind of a network's blocks.
POSITION_LAYERS: dict[str, type[keras.layers.Layer]] = {"bert": EdgePositions, "modern": EdgeRows}
BLOCKS: dict[str, type[keras.layers.Layer]] = {"bert": EdgeBlock, "modern": EdgeModernBlock}
BLOCK_INPUTS: dict[str, type[PaddingMask | Rotations]] = {"bert": PaddingMask, "modern": Rotations}


class EdgeEncoder(keras.layers.Layer):
    """Computes for one text what `TransformerEncoder` does, ids `(t,)` -> `(1, d)`.

    Args:
        padding: None, "masked" or "sliced".
        **kwargs: Arguments of `keras.layers.Layer`.
    """

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
