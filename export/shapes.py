"""Sizes of the transformers that are measured by shape; needs no ONNX."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes of a BERT encoder; `rows` is the full vocabulary's, `pooling` is `cls` or `mean`."""

    layers: int
    width: int
    heads: int
    hidden: int
    rows: int
    pooling: str
    positions: int = 512

    def parameters(self, rows=None):
        """How many numbers the encoder has, with a table of `rows` (by default the full vocabulary)."""
        layer = 4 * self.width * (self.width + 1) + self.width * (2 * self.hidden + 1) + self.hidden + 4 * self.width
        return (
            (self.rows if rows is None else rows) * self.width + (self.positions + 4) * self.width + self.layers * layer
        )


SHAPES = {
    "labse": Shape(layers=12, width=768, heads=12, hidden=3072, rows=501_153, pooling="cls"),
    "minilm": Shape(layers=12, width=384, heads=12, hidden=1536, rows=250_037, pooling="mean"),
}
