"""The encoder as an ONNX file, for servers: batches of padded texts, int8 products, the table in few bits.

Written operator by operator after `students/ngram.py`; only dense layers of one input are one product here.

Activations are quantised token by token, because one range for a whole batch would let a text's vector depend on
its neighbours. Rows of the table are gathered first and decoded then: a runtime that folds constants never makes
a float table.
"""

import numpy as np

from ..errors import ConfigError
from .codecs import FRACTION_BITS, GROUP, INT4_ZERO, ZERO, encoded
from .onnx_nodes import Graph, checked
from .quantize import LEVELS, quantize_channels

EPSILON = 1e-12
# The end of a slice that goes to the end.
ALL = np.iinfo(np.int64).max


def onnx_model(model, dense="int8", table="uint8"):
    """An ONNX file, bytes, of an `NGramEncoder`: `ids` int32 `(b, t)` -> `vectors` float32 `(b, d)` of unit length.

    Any negative id is padding; a text is one id at least. `dense` is "int8" or "float32", `table` a key of
    `codecs.CODECS`. The same model gives the same bytes. Raises `ConfigError` for another `dense` or `table`, and
    `ExportError` when the package onnx is missing or the graph is not valid.
    """
    if dense not in PRODUCTS or table not in LOOKUPS:
        raise ConfigError(
            f"no ONNX export with dense={dense!r}, table={table!r}; "
            f"dense is one of {', '.join(PRODUCTS)}, table one of {', '.join(LOOKUPS)}"
        )
    graph = Graph()
    Encoder(graph, model, PRODUCTS[dense]).vectors(lookup_of(graph, model, table))
    # Without the model's name: an automatic one counts up in a process.
    text = f"Token ids, negative where padded, to vectors of unit length; dense {dense}, table {table}"
    return checked(
        graph.model("encoder", [("ids", "int32", ("b", "t"))], [("vectors", "float32", ("b", model.dimension))], text)
    )


class Encoder:
    """Adds the nodes of `model` to `graph`; `products` multiply tokens and texts by a kernel."""

    def __init__(self, graph, model, products):
        self.graph, self.model = graph, model
        self.token_product, self.text_product = products

    def vectors(self, lookup):
        """From the input `ids` to the output `vectors`; `lookup(ids)` gives the rows of the table."""
        g = self.graph
        keep = g.cast(g.add("GreaterOrEqual", "ids", g.number(0, "int32")), "float32")
        keep = g.add("Unsqueeze", keep, g.numbers(-1))  # (b, t, 1)
        features = self.features(lookup(g.add("Max", "ids", g.number(0, "int32"))), keep)
        summed, count = (g.add("ReduceSum", x, g.numbers(1), keepdims=0) for x in (features, keep))
        return self.head(self.pooling(summed, count))

    def features(self, x, keep):
        """Embeddings `(b, t, w)` -> joined, normalised features `(b, t, w + branches * c)`."""
        g, branches = self.graph, self.model.branches
        projected = self.dense(self.token_product, x, "projections", [branch.projection for branch in branches])
        joined = [x, *(self.branch(*pair, keep) for pair in zip(branches, projected, strict=True))]
        joined = g.add("Concat", *joined, axis=-1)
        return g.add("Mul", self.norm(joined, "norm", self.model.get_layer("norm")), keep)

    def branch(self, branch, x, keep):
        """`(b, t, c)` -> `(b, t, c)`: what comes after the projection."""
        g = self.graph
        x = g.add("Mul", self.norm(x, f"{branch.name}/norm", branch.norm), keep)
        x = g.add("Mul", self.convolution(x, f"{branch.name}/first", branch.first), keep)
        return self.convolution(x, f"{branch.name}/second", branch.second)

    def convolution(self, x, name, layer):
        """ReLU convolution with residual, `(b, t, c)` -> `(b, t, c)`; `x` is zero where padded."""
        g, dense = self.graph, layer.dense
        y = self.token_product(g, self.windows(x, layer.order), name, np.asarray(dense.kernel))
        biased = g.add("Add", y, g.constant(f"{name}/bias", np.asarray(dense.bias)))
        return g.add("Add", x, g.add("Relu", biased))

    def windows(self, x, order):
        """`(b, t, c)` -> `(b, t, order * c)`: each token's window laid side by side."""
        g, reach = self.graph, order - 1
        padded = g.add("Pad", x, g.numbers(0, reach // 2, 0, 0, reach - reach // 2, 0))
        ends = [place - reach or ALL for place in range(order)]
        shifts = [
            g.add("Slice", padded, g.numbers(place), g.numbers(end), g.numbers(1)) for place, end in enumerate(ends)
        ]
        return g.add("Concat", *shifts, axis=-1)

    def pooling(self, summed, count):
        """Sums `(b, w)` and counts `(b, 1)` -> `(b, d)`."""
        g, pooling = self.graph, self.model.get_layer("pooling")
        projected = self.text_product(g, summed, "pooling", np.asarray(pooling.dense.kernel))
        bias = g.add("Mul", count, g.constant("pooling/bias", np.asarray(pooling.bias)))
        return g.add("Div", g.add("Add", projected, bias), g.add("Sqrt", count))

    def head(self, x):
        """The residual feed-forward network, tanh and unit length: `(b, d)` -> `vectors` `(b, d)`."""
        g, head = self.graph, self.model.get_layer("head")
        first, skip = self.dense(self.text_product, x, "head/hidden", [head.first, head.second_skip])
        (second,) = self.dense(self.text_product, g.add("Relu", first), "head/second", [head.second])
        hidden = g.add("Relu", g.add("Add", skip, second))
        third, skip = self.dense(self.text_product, hidden, "head/output", [head.third, head.fourth_skip])
        (fourth,) = self.dense(self.text_product, g.add("Relu", third), "head/fourth", [head.fourth])
        return self.unit(g.add("Tanh", g.add("Add", skip, fourth)))

    def unit(self, x):
        g = self.graph
        square = g.add("ReduceSum", g.add("Mul", x, x), g.numbers(-1), keepdims=1)
        length = g.add("Sqrt", g.add("Max", square, g.number(EPSILON)))
        return g.add("Div", x, length, name="vectors")

    def dense(self, product, x, name, layers):
        """Dense layers of one input as one product: `(..., in)` -> a list of `(..., out)`, one a layer."""
        g = self.graph
        y = product(g, x, name, np.concatenate([np.asarray(layer.kernel) for layer in layers], axis=1))
        if layers[0].use_bias:
            y = g.add("Add", y, g.constant(f"{name}/bias", np.concatenate([np.asarray(la.bias) for la in layers])))
        if len(layers) == 1:
            return [y]
        return g.add("Split", y, g.numbers(*(layer.units for layer in layers)), outputs=len(layers), axis=-1)

    def norm(self, x, name, layer):
        g = self.graph
        gamma, beta = (g.constant(f"{name}/{part}", np.asarray(getattr(layer, part))) for part in ("gamma", "beta"))
        return g.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=layer.epsilon)


def float_product(g, x, name, kernel):
    """`(..., in)` times a float32 kernel `(in, out)`."""
    return g.add("MatMul", x, g.constant(f"{name}/kernel", kernel))


def half_product(g, x, name, kernel):
    """The same with the kernel stored as float16, which a runtime makes float32 once, when it loads the file."""
    return g.add("MatMul", x, g.cast(g.constant(f"{name}/kernel", kernel.astype(np.float16)), "float32"))


def int8_product(g, x, name, kernel):
    """The same in whole numbers: a scale an output channel, and a step a row of `x`, whose largest number is 127.

    Rows are uint8 about 128: onnxruntime multiplies uint8 by int8 several times faster than int8 by int8.
    """
    codes, scales = unsaturated_channels(kernel)
    largest = g.add("ReduceMax", g.add("Abs", x), axes=[-1], keepdims=1)
    step = g.add("Mul", g.add("Max", largest, g.number(EPSILON)), g.number(1 / LEVELS))
    whole = g.cast(g.add("Add", g.add("Round", g.add("Div", x, step)), g.number(float(ZERO))), "uint8")
    y = g.add("MatMulInteger", whole, g.constant(f"{name}/kernel", codes), g.number(ZERO, "uint8"))
    return g.add("Mul", g.add("Mul", g.cast(y, "float32"), step), g.constant(f"{name}/scales", scales))


def unsaturated_channels(kernel):
    """float32 `(in, out)` -> int8 codes and a float32 scale an output channel, `(out,)`.

    `quantize_channels`, with one restriction. Processors with AVX2 alone add two neighbouring products in 16 bits
    and cut off what is larger. So no two neighbours of a channel sum to more than 128: 128 * 255 fits. The scale of
    a channel grows where they would.
    """
    codes, scales = quantize_channels(kernel)
    pairs = [np.maximum(sign * codes, 0) for sign in (1, -1)]
    largest = np.max([part[:-1] + part[1:] for part in pairs], axis=(0, 1), initial=LEVELS)
    scales = (scales * (largest / LEVELS)).astype(np.float32)
    return np.round(kernel / scales).astype(np.int8), scales


# What multiplies tokens, and what multiplies the one row of a text. A text's row stays float: it is a small part
# of the work, and rounding it would make a difference of 1e-7 between two batches one of 1e-3.
PRODUCTS = {"int8": (int8_product, half_product), "float32": (float_product, float_product)}


def lookup_of(g, model, name):
    """Ids `(b, t)` -> rows `(b, t, w)`, as a function that adds the nodes; the stored arrays are `encoded`'s."""
    arrays = encoded(name, model.get_layer("embedding").get_weights()[0])
    stored = [g.constant(f"table/{number}", array) for number, array in enumerate(arrays)]
    return lambda ids: LOOKUPS[name](g, *(g.add("Gather", array, ids) for array in stored), width=model.width)


def float32_lookup(g, rows, width):
    return rows


def uint8_lookup(g, codes, scales, width):
    return g.add("Mul", g.add("Sub", g.cast(codes, "float32"), g.number(ZERO)), real(g, scales))


def int8_lookup(g, codes, scales, width):
    return g.add("Mul", g.cast(codes, "float32"), real(g, scales))


def int4_lookup(g, packed, steps, scales, width):
    """The two halves of a byte are two halves of a row; each group of numbers has its step."""
    four = g.number(4, "uint8")
    low = g.add("BitShift", g.add("BitShift", packed, four, direction="LEFT"), four, direction="RIGHT")
    halves = g.add("Concat", low, g.add("BitShift", packed, four, direction="RIGHT"), axis=-1)
    codes = g.add("Sub", g.cast(halves, "float32"), g.number(INT4_ZERO))
    steps = g.add("Unsqueeze", g.add("Mul", g.cast(steps, "float32"), real(g, scales)), g.numbers(-1))
    rows = g.add("Mul", g.add("Reshape", codes, g.numbers(0, 0, -1, GROUP)), steps)
    rows = g.add("Reshape", rows, g.numbers(0, 0, -1))
    return rows if width % GROUP == 0 else g.add("Slice", rows, g.numbers(0), g.numbers(width), g.numbers(-1))


def real(g, scales):
    return g.add("Mul", g.cast(scales, "float32"), g.number(2.0**-FRACTION_BITS))


LOOKUPS = {"float32": float32_lookup, "uint8": uint8_lookup, "int8-row": int8_lookup, "int4": int4_lookup}
