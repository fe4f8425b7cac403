"""Write an n-gram student as ONNX nodes, after `students/ngram/network.py`.

Dense layers of the same input are one product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...onnx.layers import Product, stack_windows, to_unit_length
from ...onnx.nodes import Graph
from ...weights.rewrite import projection_of

if TYPE_CHECKING:
    import keras

    from ....students.ngram.network import Branch, Convolution, NGramEncoder


class OnnxEncoder:
    """Adds the nodes of a student to a graph; `products` multiply tokens and texts by a kernel."""

    def __init__(self, graph: Graph, model: NGramEncoder, products: tuple[Product, Product]) -> None:
        self.graph, self.model = graph, model
        self.token_product, self.text_product = products

    def vectors(self, lookup: Callable[[str], str]) -> str:
        """Add all nodes from the input `ids` to the output `vectors`; `lookup(ids)` returns rows of the table."""
        g = self.graph
        keep = g.cast(g.add("GreaterOrEqual", "ids", g.number(0, "int32")), "float32")
        keep = g.add("Unsqueeze", keep, g.numbers(-1))  # (b, t, 1)
        features = self.features(lookup(g.add("Max", "ids", g.number(0, "int32"))), keep)
        summed, count = (g.add("ReduceSum", x, g.numbers(1), keepdims=0) for x in (features, keep))
        return self.head(self.pooling(summed, count))

    def features(self, x: str, keep: str) -> str:
        """Add the joined and normalised features `(b, t, w + branches * c)` of embeddings, where `keep` is 1."""
        g, branches = self.graph, self.model.branches
        if self.model.rank:
            (x,) = self.dense(self.token_product, x, "factor", [self.model.get_layer("factor")])
        projected = self.dense(self.token_product, x, "projections", [branch.projection for branch in branches])
        parts = [x, *(self.branch(*pair, keep) for pair in zip(branches, projected, strict=True))]
        joined = g.add("Concat", *parts, axis=-1)
        return g.add("Mul", self.norm(joined, "norm", self.model.get_layer("norm")), keep)

    def branch(self, branch: Branch, x: str, keep: str) -> str:
        """Add the normalisation and the convolutions of a branch to its projected tokens `(b, t, c)`."""
        g = self.graph
        x = self.norm(x, f"{branch.name}/norm", branch.norm)
        for convolution in branch.convolutions:
            x = self.convolution(g.add("Mul", x, keep), f"{branch.name}/{convolution.name}", convolution)
        return x

    def convolution(self, x: str, name: str, layer: Convolution) -> str:
        """Add a ReLU convolution with a residual connection to features `(b, t, c)`, zero for padding."""
        g, dense = self.graph, layer.dense
        y = self.token_product(g, stack_windows(g, x, layer.order), name, np.asarray(dense.kernel))
        biased = g.add("Add", y, g.constant(f"{name}/bias", np.asarray(dense.bias)))
        return g.add("Add", x, g.add("Relu", biased))

    def pooling(self, summed: str, count: str) -> str:
        """Add the pooling of sums of features `(b, w)` over numbers of tokens `(b, 1)`: `(b, d)`."""
        g, pooling = self.graph, self.model.get_layer("pooling")
        projected = self.text_product(g, summed, "pooling", np.asarray(pooling.dense.kernel))
        bias = g.add("Mul", count, g.constant("pooling/bias", np.asarray(pooling.bias)))
        return g.add("Div", g.add("Add", projected, bias), g.add("Sqrt", count))

    def head(self, x: str) -> str:
        """Add the residual feed-forward network, tanh and scaling to unit length: `(b, d)` -> `vectors` `(b, d)`."""
        g, head = self.graph, self.model.get_layer("head")
        first, skip = self.dense(self.text_product, x, "head/hidden", [head.first, head.second_skip])
        (second,) = self.dense(self.text_product, g.add("Relu", first), "head/second", [head.second])
        hidden = g.add("Relu", g.add("Add", skip, second))
        third, skip = self.dense(self.text_product, hidden, "head/output", [head.third, head.fourth_skip])
        (fourth,) = self.dense(self.text_product, g.add("Relu", third), "head/fourth", [head.fourth])
        x = g.add("Tanh", g.add("Add", skip, fourth))
        projection = projection_of(self.model)
        return to_unit_length(
            g, x if projection is None else self.text_product(g, x, "projection", projection), "vectors"
        )

    def dense(self, product: Product, x: str, name: str, layers: Sequence[keras.layers.Dense]) -> list[str]:
        """Add dense layers of the same input as one product, and return the names of their outputs."""
        g = self.graph
        y = product(g, x, name, np.concatenate([np.asarray(layer.kernel) for layer in layers], axis=1))
        if layers[0].use_bias:
            y = g.add("Add", y, g.constant(f"{name}/bias", np.concatenate([np.asarray(la.bias) for la in layers])))
        if len(layers) == 1:
            return [y]
        return g.split(y, [layer.units for layer in layers])

    def norm(self, x: str, name: str, layer: keras.layers.LayerNormalization) -> str:
        """Add a `LayerNormalization` of the last axis."""
        g = self.graph
        gamma, beta = (g.constant(f"{name}/{part}", np.asarray(getattr(layer, part))) for part in ("gamma", "beta"))
        return g.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=layer.epsilon)
