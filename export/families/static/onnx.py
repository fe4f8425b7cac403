"""Write a static student as ONNX nodes, after `students/static/network.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...onnx.layers import Product, stack_windows, to_unit_length
from ...onnx.nodes import Graph
from ...weights.rewrite import merge_projection

if TYPE_CHECKING:
    from ....students.static.network import Context, Residual, StaticEncoder


class OnnxEncoder:
    """Adds the nodes of a student to a graph."""

    def __init__(self, graph: Graph, model: StaticEncoder, products: tuple[Product, Product]) -> None:
        self.graph, self.model = graph, model
        self.token_product, self.product = products

    def vectors(self, lookup: Callable[[str], str]) -> str:
        """Add all nodes from the input `ids` to the output `vectors`; `lookup(ids)` returns rows of the table."""
        g = self.graph
        keep = g.cast(g.add("GreaterOrEqual", "ids", g.number(0, "int32")), "float32")
        keep = g.add("Unsqueeze", keep, g.numbers(-1))  # (b, t, 1)
        rows = g.add("Mul", lookup(g.add("Max", "ids", g.number(0, "int32"))), keep)  # (b, t, w)
        if self.model.channels:
            rows = g.add("Mul", g.add("Add", rows, self.context(rows)), keep)
        x = to_unit_length(g, g.add("ReduceSum", rows, g.numbers(1), keepdims=0), "direction")
        residual = self.network(x, self.model.get_layer("residual"), self.product)
        return to_unit_length(
            g, self.product(g, g.add("Add", x, residual), "lift", merge_projection(self.model)), "vectors"
        )

    def context(self, rows: str) -> str:
        """Add the `Context` network of each row and its neighbours, `(b, t, w)` -> `(b, t, w)`."""
        layer = self.model.get_layer("context")
        return self.network(stack_windows(self.graph, rows, layer.order), layer, self.token_product)

    def network(self, x: str, layer: Context | Residual, product: Product) -> str:
        """Add W2 max(0, W1 x + b). Returns the name of the output `(..., out)`. `x` is the input `(..., in)`."""
        g, name = self.graph, layer.name
        hidden = product(g, x, f"{name}/first", np.asarray(layer.first.kernel))
        hidden = g.add("Relu", g.add("Add", hidden, g.constant(f"{name}/bias", np.asarray(layer.first.bias))))
        return product(g, hidden, f"{name}/second", np.asarray(layer.second.kernel))
