"""Write BERT's blocks as ONNX nodes, after `students/transformer/block.py`.

Query, key and value are one product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....system.types import Floats
from ...onnx.layers import ACTIVATIONS, Product, make_lookup
from ...onnx.nodes import Graph

if TYPE_CHECKING:
    import keras

    from ....students.transformer.block import Block
    from ....students.transformer.network import TransformerEncoder


class BertNodes:
    """Adds the nodes between the table and the pooling of a student."""

    def __init__(self, graph: Graph, model: TransformerEncoder, product: Product, codec: str) -> None:
        self.graph, self.model, self.product, self.codec = graph, model, product, codec

    def apply_blocks(self, x: str, places: str, looks: str) -> str:
        """Add position embeddings and all blocks. Returns the name of the tokens `(b, t, w)`."""
        x = self.add_positions(x, places)
        for block in self.model.blocks:
            x = self.block(x, looks, block)
        return x

    def add_positions(self, x: str, places: str) -> str:
        """Add position embeddings and their normalisation. Returns the name of the tokens `(b, t, w)`.

        Args:
            x: Rows of the table `(b, t, w)`.
            places: The position of each token, `(b, t)`.
        """
        g, layer = self.graph, self.model.get_layer("positions")
        rows = make_lookup(g, np.asarray(layer.embeddings), self.codec, "positions")
        added = g.add("Add", x, rows(g.add("Min", places, g.number(layer.size - 1, "int32"))))
        return self.norm(added, "positions/norm", layer.norm)

    def block(self, x: str, looks: str, block: Block) -> str:
        """Add attention and the feed-forward network of a block. Returns the name of the tokens `(b, t, w)`.

        Args:
            x: Tokens `(b, t, w)`.
        """
        g, name = self.graph, block.name
        attention = self.dense(self.add_attention(x, looks, block), f"{name}/attention", [block.attention])
        x = self.norm(g.add("Add", x, attention), f"{name}/attention_norm", block.attention_norm)
        hidden = ACTIVATIONS[block.activation](g, self.dense(x, f"{name}/first", [block.first]))
        second = self.dense(hidden, f"{name}/second", [block.second])
        return self.norm(g.add("Add", x, second), f"{name}/norm", block.norm)

    def add_attention(self, x: str, looks: str, block: Block) -> str:
        """Add the self-attention of a block.

        Returns the name of each token's weighted mean of the values, `(b, t, heads * size)`.
        """
        query, key, value = self.project_heads(x, block)
        return self.compute_attention(query, key, value, looks, block)

    def project_heads(self, x: str, block: Block) -> list[str]:
        """Add the projections to queries, keys and values. Returns the names of the three, `(b, h, t, s)` each."""
        g, size = self.graph, block.head_size
        both = self.dense(x, f"{block.name}/looked", [block.query, block.key, block.value])
        parts = g.split(both, [block.heads * size] * 3)
        parts = [g.add("Reshape", part, g.numbers(0, 0, block.heads, size)) for part in parts]
        return [g.add("Transpose", part, perm=[0, 2, 1, 3]) for part in parts]

    def compute_attention(self, query: str, key: str, value: str, looks: str, block: Block) -> str:
        """Add scaled dot-product attention.

        Returns the name of each token's weighted mean of the values, `(b, t, heads * size)`.

        Args:
            query: `(b, h, t, s)`.
            key: `(b, h, t, s)`.
            value: `(b, h, t, s)`.
        """
        g, size = self.graph, block.head_size
        scores = g.add("MatMul", query, g.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.add("Add", g.add("Mul", scores, g.number(size**-0.5)), looks)  # (b, h, t, t)
        means = g.add("MatMul", g.add("Softmax", scores, axis=-1), value)
        means = g.add("Transpose", means, perm=[0, 2, 1, 3])
        return g.add("Reshape", means, g.numbers(0, 0, block.heads * size))

    def dense(self, x: str, name: str, layers: Sequence[keras.layers.Dense], product: Product | None = None) -> str:
        """Add dense layers of the same input as one product.

        `product` is the function that multiplies by a kernel; None for that of tokens. Returns the name of the outputs
        `(..., out)`, concatenated.
        """
        g = self.graph
        y = (product or self.product)(g, x, name, join_arrays(layer.kernel for layer in layers))
        if not layers[0].use_bias:
            return y
        return g.add("Add", y, g.constant(f"{name}/bias", join_arrays(layer.bias for layer in layers)))

    def norm(self, x: str, name: str, layer: keras.layers.LayerNormalization) -> str:
        """Add a `LayerNormalization` of the last axis."""
        g = self.graph
        parts = ("gamma", "beta") if layer.center else ("gamma",)
        stored = [g.constant(f"{name}/{part}", np.asarray(getattr(layer, part))) for part in parts]
        return g.add("LayerNormalization", x, *stored, axis=-1, epsilon=layer.epsilon)


def join_arrays(arrays: Iterable[keras.Variable]) -> Floats:
    """Concatenate kernels or biases along their last axis."""
    return np.concatenate([np.asarray(array) for array in arrays], axis=-1)
