"""Write a transformer as ONNX nodes, after `students/transformer/network.py`.

Query, key and value are one product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....students.transformer.pooling import require_bundled
from ...onnx.layers import ACTIVATIONS, PRODUCTS, Product, to_unit_length
from ...onnx.nodes import Graph
from ...weights.rewrite import factor_of, projection_of
from .onnx_modern import ModernNodes
from .onnx_nodes import BertNodes

if TYPE_CHECKING:
    from ....students.transformer.network import TransformerEncoder

# Added to the scores of padding, and to its values before the maximum is taken.
FAR = -30_000.0
NODES = {"bert": BertNodes, "modern": ModernNodes}


class OnnxEncoder:
    """Adds the nodes of a student to a graph.

    Args:
        products: The functions that multiply tokens and texts by a kernel.
    """

    def __init__(self, graph: Graph, model: TransformerEncoder, products: tuple[Product, Product]) -> None:
        require_bundled(model.pooling, model.dense)
        self.graph, self.model = graph, model
        self.token_product, self.text_product = products
        # Position embeddings are stored as in a bundle.
        self.codec = "float32" if products == PRODUCTS["float32"] else "uint8"
        names = ("heads", "pooling", "dense", "epsilon", "activation")
        graph.settings |= {name: getattr(model, name) for name in names}
        self.nodes = NODES[model.block](graph, model, self.token_product, self.codec)

    def vectors(self, lookup: Callable[[str], str]) -> str:
        """Add all nodes from the input `ids` to the output `vectors`; `lookup(ids)` returns rows of the table."""
        g, factor = self.graph, factor_of(self.model)
        there = g.cast(g.add("GreaterOrEqual", "ids", g.number(0, "int32")), "float32")  # (b, t)
        x = lookup(g.add("Max", "ids", g.number(0, "int32")))
        x = x if factor is None else self.token_product(g, x, "factor", factor)
        places = g.add("Sub", g.add("CumSum", g.cast(there, "int32"), g.number(1, "int32")), g.number(1, "int32"))
        far = g.add("Mul", g.add("Sub", g.number(1), there), g.number(FAR))
        looks = g.add("Unsqueeze", far, g.numbers(1, 2))  # (b, 1, 1, t)
        x = self.nodes.apply_blocks(x, g.add("Max", places, g.number(0, "int32")), looks)
        return self.finish(self.pool(x, there, places, far))

    def pool(self, x: str, there: str, places: str, far: str) -> str:
        """Add the pooling of tokens.

        Args:
            x: Tokens `(b, t, w)`.
            there: 1 for tokens and 0 for padding, `(b, t)`.
            places: The position of each token, `(b, t)`.
            far: Added to the values of padding before the maximum is taken, `(b, t)`.

        Returns:
            The name of the pooled texts `(b, w)`.
        """
        g, kind = self.graph, self.model.pooling
        if kind == "max":
            return g.add("ReduceMax", g.add("Add", x, g.add("Unsqueeze", far, g.numbers(-1))), axes=[1], keepdims=0)
        if kind == "first":
            # Padding before a text has a lower position than the first token.
            first = g.cast(g.add("Equal", places, g.number(0, "int32")), "float32")
            there = g.add("Mul", there, first)
        # As a product of a row and a matrix, the sum reads each number once.
        summed = g.add("MatMul", g.add("Unsqueeze", there, g.numbers(1)), x)  # (b, 1, w)
        count = g.add("ReduceSum", there, g.numbers(1), keepdims=1)
        return g.add("Div", g.add("Squeeze", summed, g.numbers(1)), count)

    def finish(self, x: str) -> str:
        """Add the layers behind the pooling: pooled tokens `(b, w)` -> `vectors` `(b, d)`."""
        g, projection = self.graph, projection_of(self.model)
        if self.model.dense:
            x = self.nodes.dense(x, "dense", [self.model.get_layer("dense")], self.text_product)
            x = ACTIVATIONS[self.model.dense](g, x)
        return to_unit_length(
            g, x if projection is None else self.text_product(g, x, "projection", projection), "vectors"
        )
