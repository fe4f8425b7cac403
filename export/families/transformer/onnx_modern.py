"""ModernBERT's blocks as ONNX nodes, after `students/transformer/modern.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....students.transformer.modern import frequencies_of
from ...onnx.layers import ACTIVATIONS

if TYPE_CHECKING:
    from ....students.transformer.modern import ModernBlock
    from .onnx import OnnxEncoder

# What is added to the scores of tokens beyond the window, for each token further.
FAR = -30_000.0
SETTINGS = ("block", "window", "global_theta", "local_theta", "positions")


class ModernNodes:
    """Adds the nodes between the table and the pooling of an `encoder`, whose model's blocks are modern."""

    def __init__(self, encoder: OnnxEncoder) -> None:
        self.encoder, self.graph, self.model = encoder, encoder.graph, encoder.model
        self.graph.settings |= {name: getattr(self.model, name) for name in SETTINGS}
        self.graph.settings["local"] = list(self.model.local)

    def through(self, x: str, places: str, looks: str) -> str:
        """Rows `(b, t, w)` of places `(b, t)` through all blocks; `looks` is added to the scores."""
        encoder, model = self.encoder, self.model
        x = encoder.norm(x, "positions/norm", model.get_layer("positions").norm)
        near, turns = None, {}
        for block in model.blocks:
            if block.window is not None:
                near = near or self.graph.add("Add", looks, self.beyond(places))
            turns[block.theta] = turns.get(block.theta) or self.turns(places, block.theta)
            x = self.block(x, block, near if block.window is not None else looks, turns[block.theta])
        return encoder.norm(x, "final_norm", model.get_layer("final_norm"))

    def beyond(self, places: str) -> str:
        """What is added to the scores of tokens beyond the window, `(b, 1, t, t)`."""
        g, places = self.graph, self.graph.cast(places, "float32")
        way = g.add("Sub", *(g.add("Unsqueeze", places, g.numbers(axis)) for axis in (2, 1)))
        far = g.add("Max", g.add("Sub", g.add("Abs", way), g.number(float(self.model.window))), g.number(0.0))
        return g.add("Unsqueeze", g.add("Mul", far, g.number(FAR)), g.numbers(1))

    def turns(self, places: str, theta: float) -> tuple[str, str]:
        """Cosines and sines, `(b, 1, t, s / 2)`."""
        g = self.graph
        turns = g.constant(f"turns/{theta}", frequencies_of(theta, self.model.head_size))
        angles = g.add("Mul", g.add("Unsqueeze", g.cast(places, "float32"), g.numbers(1, 3)), turns)
        return g.add("Cos", angles), g.add("Sin", angles)

    def block(self, x: str, block: ModernBlock, looks: str, turns: tuple[str, str]) -> str:
        """Attention and the feed-forward network: `(b, t, w)` -> `(b, t, w)`."""
        g, encoder, name = self.graph, self.encoder, block.name
        read = encoder.norm(x, f"{name}/attention_norm", block.attention_norm) if block.normed else x
        query, key, value = encoder.looked(read, block)
        query, key = (self.turned(part, turns) for part in (query, key))
        means = encoder.look(query, key, value, looks, block)
        x = g.add("Add", x, encoder.dense(means, f"{name}/attention", [block.attention]))
        both = encoder.dense(encoder.norm(x, f"{name}/norm", block.norm), f"{name}/first", block.unit_layers)
        first, gate = g.split(both, [block.inner] * 2)
        units = g.add("Mul", ACTIVATIONS[block.activation](g, first), gate)
        return g.add("Add", x, encoder.dense(units, f"{name}/second", [block.second]))

    def turned(self, x: str, turns: tuple[str, str]) -> str:
        """Heads `(b, h, t, s)` turned by their places."""
        g, (cosine, sine) = self.graph, turns
        first, second = g.split(x, [self.model.head_size // 2] * 2)
        less = g.add("Sub", g.add("Mul", first, cosine), g.add("Mul", second, sine))
        more = g.add("Add", g.add("Mul", second, cosine), g.add("Mul", first, sine))
        return g.add("Concat", less, more, axis=-1)
