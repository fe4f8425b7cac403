"""Make BERT encoders with random weights to measure the speed of a shape, which does not depend on the weights.

`random_encoders` writes them for `benchmarks/latency.py`; `transformer_worker.py` runs them.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from distill.errors import DistillError
from distill.evaluation.bench.compare import try_encoder
from distill.evaluation.bench.process import WorkerSpec
from distill.export.onnx.nodes import Graph, serialize_checked
from distill.teachers.muse import find_package

EPSILON = 1e-12
STEP = 0.02
# Rows of a table as it is written: the latency does not depend on them.
ROWS = 4096


@dataclass(frozen=True)
class Shape:
    """Sizes of a BERT encoder; `rows` is the size of the full vocabulary, `pooling` is `cls` or `mean`."""

    name: str
    layers: int
    width: int
    heads: int
    hidden: int
    rows: int
    pooling: str
    positions: int = 512

    def parameters(self, rows=None):
        """Count the weights of the encoder with a table of `rows`, by default the full vocabulary."""
        layer = 4 * self.width * (self.width + 1) + self.width * (2 * self.hidden + 1) + self.hidden + 4 * self.width
        rows = self.rows if rows is None else rows
        return rows * self.width + (self.positions + 4) * self.width + self.layers * layer


SHAPES = {
    "labse": Shape("LaBSE's and mBERT-base's shape", 12, 768, 12, 3072, rows=501_153, pooling="cls"),
    "minilm": Shape("multilingual-MiniLM-L12's shape", 12, 384, 12, 1536, rows=250_037, pooling="mean"),
}


def random_encoders(names, folder, python, threads):
    """Return `{name: WorkerSpec}` of the shapes in `folder` that run in `python`, and why others do not."""
    specs, skipped = {}, {}
    for name in names:
        try:
            specs[name] = try_encoder(name, shape_spec(SHAPES[name], Path(folder) / name, python), threads)
        except DistillError as error:
            skipped[name] = str(error).removeprefix(f"{name}: ")
    return specs, skipped


def shape_spec(shape, folder, python):
    """Write the encoder, mUSE's tokenizer and what `transformer_worker.py` needs to know to the new `folder`."""
    folder.mkdir()
    write_transformer(folder / "encoder.onnx", shape, ROWS)
    shutil.copy(find_package() / "sp.model", folder / "tokenizer.model")
    (folder / "sizes.json").write_text(json.dumps({"rows": ROWS, "longest": shape.positions}), encoding="ascii")
    note = (
        f"{shape.name}, random weights (latency does not depend on them), mUSE's tokens, a table of {ROWS} rows: "
        f"MB on disk are computed for {shape.rows:,} rows, memory and cold start are without them"
    )
    code = {"code": str(Path(__file__).with_name("transformer_worker.py"))}
    return WorkerSpec("bundle", str(folder), python, code, 4 * shape.parameters(), note)


def write_transformer(path, shape, rows, seed=0):
    """Write the encoder with a table of `rows` rows: `ids`, `mask` int64 `(n, t)` -> `vectors` float32 `(n, width)`."""
    graph = RandomGraph(np.random.default_rng(seed))
    output = pooled(graph, encoded(graph, shape, rows), shape.pooling)
    inputs = [(name, "int64", ("n", "t")) for name in ("ids", "mask")]
    model = graph.model("transformer", inputs, [(output, "float32", ("n", shape.width))], "Random weights")
    path.write_bytes(serialize_checked(model))


class RandomGraph(Graph):
    """A `Graph` whose weights are drawn."""

    def __init__(self, random):
        super().__init__()
        self.random = random

    def new(self, value):
        """Return a stored array with a name of its own."""
        return self.constant(f"constant_{len(self.constants)}", value)

    def weight(self, *shape):
        return self.new(STEP * self.random.standard_normal(shape, dtype=np.float32))

    def dense(self, x, inputs, outputs):
        return self.add("Add", self.add("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def norm(self, x, width):
        scale, shift = self.new(np.ones(width, np.float32)), self.new(np.zeros(width, np.float32))
        return self.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=EPSILON)


def encoded(graph, shape, rows):
    """Return the token vectors `(n, t, width)`."""
    x, bias = embedded(graph, shape, rows), attention_bias(graph)
    for _ in range(shape.layers):
        x = graph.norm(graph.add("Add", x, attention(graph, x, bias, shape)), shape.width)
        x = graph.norm(graph.add("Add", x, feed_forward(graph, x, shape)), shape.width)
    return x


def embedded(graph, shape, rows):
    """Return the sum of the embeddings of tokens, positions and the one token type of a single text."""
    length = graph.add("Slice", graph.add("Shape", "ids"), *(graph.numbers(value) for value in (1, 2)))
    first, axis = graph.numbers(0), graph.numbers(0)
    positions = graph.add("Slice", graph.weight(shape.positions, shape.width), first, length, axis)
    pieces = graph.add("Gather", graph.weight(rows, shape.width), "ids")
    return graph.norm(graph.add("Add", graph.add("Add", pieces, positions), graph.weight(shape.width)), shape.width)


def attention_bias(graph):
    """Return 0 for tokens and a large negative number for padding, `(n, 1, 1, t)`."""
    mask = graph.cast(graph.add("Unsqueeze", "mask", graph.numbers(1, 2)), "float32")
    return graph.add("Mul", graph.add("Sub", graph.number(1), mask), graph.number(-10000))


def attention(graph, x, bias, shape):
    size = shape.width // shape.heads
    query, key, value = (
        graph.add("Transpose", split(graph, graph.dense(x, shape.width, shape.width), shape, size), perm=order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.number(np.sqrt(size)))
    weights = graph.add("Softmax", graph.add("Add", scores, bias), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", mixed, graph.numbers(0, 0, shape.width))
    return graph.dense(joined, shape.width, shape.width)


def split(graph, x, shape, size):
    """Reshape `(n, t, width)` to `(n, t, heads, size)`."""
    return graph.add("Reshape", x, graph.numbers(0, 0, shape.heads, size))


def feed_forward(graph, x, shape):
    """Apply two dense layers with a GELU between them, in the form that runtimes fuse."""
    x = graph.dense(x, shape.width, shape.hidden)
    erf = graph.add("Erf", graph.add("Div", x, graph.number(np.sqrt(2))))
    x = graph.add("Mul", graph.add("Mul", x, graph.add("Add", erf, graph.number(1))), graph.number(0.5))
    return graph.dense(x, shape.hidden, shape.width)


def pooled(graph, x, pooling):
    """Return one vector per text: that of the first token, or the mean over the tokens without padding."""
    if pooling == "cls":
        return graph.add("Gather", x, graph.number(0, "int64"), axis=1)
    mask = graph.cast(graph.add("Unsqueeze", "mask", graph.numbers(2)), "float32")
    total = graph.add("ReduceSum", graph.add("Mul", x, mask), graph.numbers(1), keepdims=0)
    return graph.add("Div", total, graph.add("ReduceSum", mask, graph.numbers(1), keepdims=0))
