"""Write a transformer as ONNX nodes, after `students/transformer/network.py`.

Query, key and value are one product. ModernBERT's blocks are as in `students/transformer/modern.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....students.transformer.modern import compute_frequencies
from ....students.transformer.pooling import require_bundled
from ....system.types import Floats
from ...onnx.layers import ACTIVATIONS, PRODUCTS, Product, make_lookup, to_unit_length
from ...onnx.nodes import Graph
from ...weights.rewrite import factor_of, projection_of

if TYPE_CHECKING:
    import keras

    from ....students.transformer.block import Block
    from ....students.transformer.modern import ModernBlock
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
        """Add position embeddings and their normalisation to rows of the table `(b, t, w)`; places are `(b, t)`."""
        g, layer = self.graph, self.model.get_layer("positions")
        rows = make_lookup(g, np.asarray(layer.embeddings), self.codec, "positions")
        added = g.add("Add", x, rows(g.add("Min", places, g.number(layer.size - 1, "int32"))))
        return self.norm(added, "positions/norm", layer.norm)

    def block(self, x: str, looks: str, block: Block) -> str:
        """Add attention and the feed-forward network of a block to tokens `(b, t, w)`."""
        g, name = self.graph, block.name
        attention = self.dense(self.add_attention(x, looks, block), f"{name}/attention", [block.attention])
        x = self.norm(g.add("Add", x, attention), f"{name}/attention_norm", block.attention_norm)
        hidden = ACTIVATIONS[block.activation](g, self.dense(x, f"{name}/first", [block.first]))
        second = self.dense(hidden, f"{name}/second", [block.second])
        return self.norm(g.add("Add", x, second), f"{name}/norm", block.norm)

    def add_attention(self, x: str, looks: str, block: Block) -> str:
        """Add the self-attention of a block: each token's weighted mean of the values, `(b, t, heads * size)`."""
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
        """Add scaled dot-product attention of heads `(b, h, t, s)`; the result is `(b, t, heads * size)`."""
        g, size = self.graph, block.head_size
        scores = g.add("MatMul", query, g.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.add("Add", g.add("Mul", scores, g.number(size**-0.5)), looks)  # (b, h, t, t)
        means = g.add("MatMul", g.add("Softmax", scores, axis=-1), value)
        means = g.add("Transpose", means, perm=[0, 2, 1, 3])
        return g.add("Reshape", means, g.numbers(0, 0, block.heads * size))

    def dense(self, x: str, name: str, layers: Sequence[keras.layers.Dense], product: Product | None = None) -> str:
        """Add dense layers of the same input as one product, by default that of tokens, with concatenated outputs."""
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


# Added to the scores of tokens beyond the window, once for each token of distance.
SETTINGS = ("block", "window", "global_theta", "local_theta", "positions")
# Added to the scores of padding, and to its values before the maximum is taken.
FAR = -30_000.0


class ModernNodes(BertNodes):
    """Adds the nodes between the table and the pooling of a student with modern blocks, as `BertNodes` does."""

    def __init__(self, graph: Graph, model: TransformerEncoder, product: Product, codec: str) -> None:
        super().__init__(graph, model, product, codec)
        graph.settings |= {name: getattr(model, name) for name in SETTINGS}
        graph.settings["local"] = list(model.local)

    def apply_blocks(self, x: str, places: str, looks: str) -> str:
        """Add all blocks to rows of the table `(b, t, w)`; `looks`, `(b, 1, 1, t)`, is added to the scores."""
        model = self.model
        x = self.norm(x, "positions/norm", model.get_layer("positions").norm)
        near = self.graph.add("Add", looks, self.window_penalty(places)) if model.local else looks
        turns = {theta: self.rotary_embeddings(places, theta) for theta in {block.theta for block in model.blocks}}
        for block in model.blocks:
            x = self.modern_block(x, block, looks if block.window is None else near, turns[block.theta])
        return self.norm(x, "final_norm", model.final_norm)

    def window_penalty(self, places: str) -> str:
        """Add the penalty of tokens beyond the window, `(b, 1, t, t)`, which is added to their scores."""
        g, places = self.graph, self.graph.cast(places, "float32")
        way = g.add("Sub", *(g.add("Unsqueeze", places, g.numbers(axis)) for axis in (2, 1)))
        far = g.add("Max", g.add("Sub", g.add("Abs", way), g.number(float(self.model.window))), g.number(0.0))
        return g.add("Unsqueeze", g.add("Mul", far, g.number(FAR)), g.numbers(1))

    def rotary_embeddings(self, places: str, theta: float) -> tuple[str, str]:
        """Add the cosines and sines of rotary position embeddings, `(b, 1, t, s / 2)`."""
        g = self.graph
        turns = g.constant(f"turns/{theta}", compute_frequencies(theta, self.model.head_size))
        angles = g.add("Mul", g.add("Unsqueeze", g.cast(places, "float32"), g.numbers(1, 3)), turns)
        return g.add("Cos", angles), g.add("Sin", angles)

    def modern_block(self, x: str, block: ModernBlock, looks: str, turns: tuple[str, str]) -> str:
        """Add attention and the feed-forward network of a block; `turns` are the cosines and sines of its positions."""
        g, name = self.graph, block.name
        read = self.norm(x, f"{name}/attention_norm", block.attention_norm) if block.normed else x
        query, key, value = self.project_heads(read, block)
        query, key = (self.rotate_heads(part, turns) for part in (query, key))
        means = self.compute_attention(query, key, value, looks, block)
        x = g.add("Add", x, self.dense(means, f"{name}/attention", [block.attention]))
        both = self.dense(self.norm(x, f"{name}/norm", block.norm), f"{name}/first", block.unit_layers)
        first, gate = g.split(both, [block.inner] * 2)
        units = g.add("Mul", ACTIVATIONS[block.activation](g, first), gate)
        return g.add("Add", x, self.dense(units, f"{name}/second", [block.second]))

    def rotate_heads(self, x: str, turns: tuple[str, str]) -> str:
        """Rotate heads `(b, h, t, s)` by their positions, given as cosines and sines `(b, 1, t, s / 2)`."""
        g, (cosine, sine) = self.graph, turns
        first, second = g.split(x, [self.model.head_size // 2] * 2)
        less = g.add("Sub", g.add("Mul", first, cosine), g.add("Mul", second, sine))
        more = g.add("Add", g.add("Mul", second, cosine), g.add("Mul", first, sine))
        return g.add("Concat", less, more, axis=-1)


NODES = {"bert": BertNodes, "modern": ModernNodes}


class OnnxEncoder:
    """Adds the nodes of a student to a graph."""

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
        """Add the pooling of tokens `(b, t, w)`: `(b, w)`.

        `there` is 1 for tokens and 0 for padding, and `far` is added to the values of padding before a maximum; both
        are `(b, t)`.
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
