"""The transformer as ONNX nodes, after `students/transformer/network.py`; query, key and value are one product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....system.types import Floats
from ...onnx.layers import ACTIVATIONS, PRODUCTS, Product, lookup_of, unit
from ...onnx.nodes import Graph
from ...weights.rewrite import factor_of, projection_of
from .onnx_modern import ModernNodes

if TYPE_CHECKING:
    import keras

    from ....students.transformer.block import Block
    from ....students.transformer.network import TransformerEncoder

# What is added to the scores of padding, and to its values before the largest are taken.
FAR = -30_000.0


class OnnxEncoder:
    """Adds the nodes of `model` to `graph`; `products` multiply tokens and texts by a kernel."""

    def __init__(self, graph: Graph, model: TransformerEncoder, products: tuple[Product, Product]) -> None:
        self.graph, self.model = graph, model
        self.token_product, self.text_product = products
        # As in a bundle.
        self.codec = "float32" if products == PRODUCTS["float32"] else "uint8"
        names = ("heads", "pooling", "dense", "epsilon", "activation")
        graph.settings |= {name: getattr(model, name) for name in names}
        self.modern = ModernNodes(self) if model.block == "modern" else None

    def vectors(self, lookup: Callable[[str], str]) -> str:
        """From the input `ids` to the output `vectors`; `lookup(ids)` gives the rows of the table."""
        g, factor = self.graph, factor_of(self.model)
        there = g.cast(g.add("GreaterOrEqual", "ids", g.number(0, "int32")), "float32")  # (b, t)
        x = lookup(g.add("Max", "ids", g.number(0, "int32")))
        x = x if factor is None else self.token_product(g, x, "factor", factor)
        places = g.add("Sub", g.add("CumSum", g.cast(there, "int32"), g.number(1, "int32")), g.number(1, "int32"))
        order = g.add("Max", places, g.number(0, "int32"))
        far = g.add("Mul", g.add("Sub", g.number(1), there), g.number(FAR))
        looks = g.add("Unsqueeze", far, g.numbers(1, 2))  # (b, 1, 1, t)
        x = self.modern.through(x, order, looks) if self.modern else self.through(x, order, looks)
        return self.finished(self.pooled(x, there, places, far))

    def through(self, x: str, places: str, looks: str) -> str:
        """Rows `(b, t, w)` of places `(b, t)` through all blocks; `looks` is added to the scores."""
        x = self.placed(x, places)
        for block in self.model.blocks:
            x = self.block(x, looks, block)
        return x

    def placed(self, x: str, places: str) -> str:
        """Rows `(b, t, w)` plus those of their places `(b, t)`, normalised."""
        g, layer = self.graph, self.model.get_layer("positions")
        rows = lookup_of(g, np.asarray(layer.embeddings), self.codec, "positions")
        added = g.add("Add", x, rows(g.add("Min", places, g.number(layer.size - 1, "int32"))))
        return self.norm(added, "positions/norm", layer.norm)

    def block(self, x: str, looks: str, block: Block) -> str:
        """Attention and the feed-forward network: `(b, t, w)` -> `(b, t, w)`."""
        g, name = self.graph, block.name
        attention = self.dense(self.attended(x, looks, block), f"{name}/attention", [block.attention])
        x = self.norm(g.add("Add", x, attention), f"{name}/attention_norm", block.attention_norm)
        hidden = ACTIVATIONS[block.activation](g, self.dense(x, f"{name}/first", [block.first]))
        second = self.dense(hidden, f"{name}/second", [block.second])
        return self.norm(g.add("Add", x, second), f"{name}/norm", block.norm)

    def attended(self, x: str, looks: str, block: Block) -> str:
        """Each token's mean of the values that it looks at, `(b, t, heads * size)`."""
        return self.look(*self.looked(x, block), looks, block)

    def looked(self, x: str, block: Block) -> list[str]:
        """Queries, keys and values, `(b, h, t, s)` each."""
        g, size = self.graph, block.head_size
        both = self.dense(x, f"{block.name}/looked", [block.query, block.key, block.value])
        parts = g.split(both, [block.heads * size] * 3)
        parts = [g.add("Reshape", part, g.numbers(0, 0, block.heads, size)) for part in parts]
        return [g.add("Transpose", part, perm=[0, 2, 1, 3]) for part in parts]

    def look(self, query: str, key: str, value: str, looks: str, block: Block) -> str:
        """Each token's mean of the values that it looks at, `(b, t, heads * size)`."""
        g, size = self.graph, block.head_size
        scores = g.add("MatMul", query, g.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.add("Add", g.add("Mul", scores, g.number(size**-0.5)), looks)  # (b, h, t, t)
        means = g.add("MatMul", g.add("Softmax", scores, axis=-1), value)
        means = g.add("Transpose", means, perm=[0, 2, 1, 3])
        return g.add("Reshape", means, g.numbers(0, 0, block.heads * size))

    def pooled(self, x: str, there: str, places: str, far: str) -> str:
        """The vector `(b, w)` of tokens `(b, t, w)`, of which `there` `(b, t)` says which are of the text."""
        g, kind = self.graph, self.model.pooling
        if kind == "max":
            return g.add("ReduceMax", g.add("Add", x, g.add("Unsqueeze", far, g.numbers(-1))), axes=[1], keepdims=0)
        if kind == "first":
            # Padding before a text has a place below its first token's.
            first = g.cast(g.add("Equal", places, g.number(0, "int32")), "float32")
            there = g.add("Mul", there, first)
        # A row times a matrix reads each number once.
        summed = g.add("MatMul", g.add("Unsqueeze", there, g.numbers(1)), x)  # (b, 1, w)
        count = g.add("ReduceSum", there, g.numbers(1), keepdims=1)
        return g.add("Div", g.add("Squeeze", summed, g.numbers(1)), count)

    def finished(self, x: str) -> str:
        """Pooled tokens `(b, w)` -> `vectors` `(b, d)`."""
        g, projection = self.graph, projection_of(self.model)
        if self.model.dense:
            x = self.dense(x, "dense", [self.model.get_layer("dense")], self.text_product)
            x = ACTIVATIONS[self.model.dense](g, x)
        return unit(g, x if projection is None else self.text_product(g, x, "projection", projection), "vectors")

    def dense(self, x: str, name: str, layers: Sequence[keras.layers.Dense], product: Product | None = None) -> str:
        """Dense layers of one input as one product: `(..., in)` -> `(..., out)`, one layer after another."""
        g = self.graph
        y = (product or self.token_product)(g, x, name, joined(layer.kernel for layer in layers))
        if not layers[0].use_bias:
            return y
        return g.add("Add", y, g.constant(f"{name}/bias", joined(layer.bias for layer in layers)))

    def norm(self, x: str, name: str, layer: keras.layers.LayerNormalization) -> str:
        """`LayerNormalization` of the last axis."""
        g = self.graph
        parts = ("gamma", "beta") if layer.center else ("gamma",)
        stored = [g.constant(f"{name}/{part}", np.asarray(getattr(layer, part))) for part in parts]
        return g.add("LayerNormalization", x, *stored, axis=-1, epsilon=layer.epsilon)


def joined(arrays: Iterable[keras.Variable]) -> Floats:
    """Kernels or biases side by side."""
    return np.concatenate([np.asarray(array) for array in arrays], axis=-1)
