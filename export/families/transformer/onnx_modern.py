"""Write ModernBERT's blocks as ONNX nodes, after `students/transformer/modern.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....students.transformer.modern import compute_frequencies
from ...onnx.layers import ACTIVATIONS, Product
from ...onnx.nodes import Graph
from .onnx_nodes import BertNodes

if TYPE_CHECKING:
    from ....students.transformer.modern import ModernBlock
    from ....students.transformer.network import TransformerEncoder

# Added to the scores of tokens beyond the window, once for each token of distance.
FAR = -30_000.0
SETTINGS = ("block", "window", "global_theta", "local_theta", "positions")


class ModernNodes(BertNodes):
    """Adds the nodes between the table and the pooling of a student with modern blocks, as `BertNodes` does.

    Args:
        product: The function that multiplies tokens by a kernel.
        codec: The format of position embeddings, of which these blocks have none.
    """

    def __init__(self, graph: Graph, model: TransformerEncoder, product: Product, codec: str) -> None:
        super().__init__(graph, model, product, codec)
        graph.settings |= {name: getattr(model, name) for name in SETTINGS}
        graph.settings["local"] = list(model.local)

    def apply_blocks(self, x: str, places: str, looks: str) -> str:
        """Add all blocks.

        Args:
            x: Rows of the table `(b, t, w)`.
            places: The position of each token, `(b, t)`.
            looks: Added to the scores, `(b, 1, 1, t)`.

        Returns:
            The name of the tokens `(b, t, w)`.
        """
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
        """Add the cosines and sines of rotary position embeddings.

        Args:
            places: The position of each token, `(b, t)`.

        Returns:
            The names of the cosines and the sines, `(b, 1, t, s / 2)`.
        """
        g = self.graph
        turns = g.constant(f"turns/{theta}", compute_frequencies(theta, self.model.head_size))
        angles = g.add("Mul", g.add("Unsqueeze", g.cast(places, "float32"), g.numbers(1, 3)), turns)
        return g.add("Cos", angles), g.add("Sin", angles)

    def modern_block(self, x: str, block: ModernBlock, looks: str, turns: tuple[str, str]) -> str:
        """Add attention and the feed-forward network of a block.

        Args:
            x: Tokens `(b, t, w)`.
            turns: Cosines and sines of the block's rotary position embeddings.

        Returns:
            The name of the tokens `(b, t, w)`.
        """
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
        """Rotate heads by their positions.

        Args:
            x: Heads `(b, h, t, s)`.
            turns: Cosines and sines `(b, 1, t, s / 2)`.
        """
        g, (cosine, sine) = self.graph, turns
        first, second = g.split(x, [self.model.head_size // 2] * 2)
        less = g.add("Sub", g.add("Mul", first, cosine), g.add("Mul", second, sine))
        more = g.add("Add", g.add("Mul", second, cosine), g.add("Mul", first, sine))
        return g.add("Concat", less, more, axis=-1)
