"""A transformer in its flatbuffer: the parts by name, and the weights that they are.

Layers are told by their order and by what reads them, not by the names of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....students.told import SETTINGS, as_array
from ....system.types import Floats, Json
from ...tflite.graph import Graph, Operator, Product
from ...tflite.parts import Parts
from ...weights.codecs import decoded

LAYERS = ("looked", "attention", "first", "second")
LOOKED = ("query", "key", "value")
NORMS = ("attention_norm", "norm")
# What makes one vector of a text's tokens.
POOLINGS = {"SUM": "mean", "STRIDED_SLICE": "first", "REDUCE_MAX": "max"}
ACTIVATIONS = {"GELU": "gelu", "RELU": "relu", "TANH": "tanh"}


def owns(graph: Graph) -> bool:
    """Return True for the graph of a transformer: no other family has attention."""
    return graph.has("SOFTMAX")


def parts_of(graph: Graph) -> Parts:
    """Return the parts of an encoder.

    Its products are `factor` behind a factorised table, "block_0.looked", which is query, key and value, and the others
    of `LAYERS` for each block, `dense` and `projection`. Its vectors are gains and biases of normalisations, and
    "positions".
    """
    products = _products(graph)
    looked, first = (products[f"block_0.{name}"] for name in ("looked", "first"))
    width, arrays = looked.inputs, graph.positions()
    codec = "float32" if len(arrays) == 1 else "uint8"
    arrays = [np.ascontiguousarray(arrays[0]).view(np.float32)] if codec == "float32" else arrays
    vectors = _norms(graph, width) | {"positions": decoded(codec, arrays, width)}
    (shape,) = (graph.stored(one.inputs[1]) for one in graph.readers(looked.end) if one.name == "RESHAPE")
    behind = products.get("dense")
    settings: dict[str, Json] = {
        "heads": int(shape[1]) // len(LOOKED),
        "pooling": _pooling(graph, products),
        "dense": behind and _activation(graph, behind),
        "epsilon": _epsilon(graph),
        "activation": _activation(graph, first),
    }
    rows = products["factor"].inputs if "factor" in products else width
    return Parts("transformer", products, vectors, rows, (), list(products)[-1], settings)


def _products(graph: Graph) -> dict[str, Product]:
    scores = [operator for operator in graph.operators if operator.name == "SOFTMAX"]
    # What the first scores are made of: the first block's first product, and a factor before it.
    begin, size = len(graph.behind(scores[0].outputs[0])) - 1, len(LAYERS)
    names = [f"block_{place}.{name}" for place in range(len(scores)) for name in LAYERS]
    named = dict(zip(["factor"][:begin] + names, graph.products, strict=False))
    return named | _behind(graph, graph.products[begin + size * len(scores) :])


def _behind(graph: Graph, products: Sequence[Product]) -> dict[str, Product]:
    """Those behind the pooling; a projection reads what is kept apart."""
    if not products:
        return {}
    *before, last = products
    producer = graph.producer(last.start)
    if producer and producer.name == "MAXIMUM":
        return {**dict(zip(["dense"], before, strict=False)), "projection": last}
    return {"dense": last}


def _activation(graph: Graph, product: Product) -> str:
    """The name of the function that a product goes through."""
    if product.relu:
        return "relu"
    following = next((one for one in graph.readers(product.end) if one.name in ACTIVATIONS), None)
    if following is None:
        return "linear"
    return ACTIVATIONS[following.name] + "_tanh" * following.approximate


def _pooling(graph: Graph, products: dict[str, Product]) -> str:
    """The name of the first operator behind all blocks that makes one row of many."""
    blocks = [place for place, name in enumerate(products) if name not in ("dense", "projection")]
    done = next(place for place, one in enumerate(graph.operators) if len(graph.behind(one.outputs[0])) == len(blocks))
    return next(POOLINGS[one.name] for one in graph.operators[done:] if one.name in POOLINGS)


def _roots(graph: Graph) -> list[Operator]:
    """The operators that a normalisation divides by: what unit length takes the root of is a MAXIMUM."""
    return [one for one in graph.operators if one.name == "RSQRT" and _sum(graph, one).name == "ADD"]


def _sum(graph: Graph, root: Operator) -> Operator:
    producer = graph.producer(root.inputs[0])
    if producer is None:
        raise ValueError("a root of an input")
    return producer


def _epsilon(graph: Graph) -> float:
    added = _sum(graph, _roots(graph)[0])
    epsilon = next(value for tensor in added.inputs if (value := graph.real(tensor)) is not None)
    # As it is written down, which float32 has nearly.
    return float(f"{float(epsilon):.6g}")


def _norms(graph: Graph, width: int) -> dict[str, Floats]:
    """Gains and biases of all normalisations, of which a converter leaves out ones and zeros."""
    vectors: dict[str, Floats] = {}
    for place, root in enumerate(_roots(graph)):
        name = f"block_{(place - 1) // 2}.{NORMS[(place - 1) % 2]}" if place else "positions.norm"
        (scaled,) = (one.outputs[0] for one in graph.readers(root.outputs[0]) if one.name == "MUL")
        gamma, scaled = _vector(graph, scaled, "MUL", width)
        beta, _ = _vector(graph, scaled, "ADD", width)
        vectors[f"{name}.gamma"] = np.ones(width, np.float32) if gamma is None else gamma
        vectors[f"{name}.beta"] = np.zeros(width, np.float32) if beta is None else beta
    return vectors


def _vector(graph: Graph, tensor: int, name: str, width: int) -> tuple[Floats | None, int]:
    """The vector that an operator of this name puts to a tensor, None without, and the tensor that comes of it."""
    for one in (one for one in graph.readers(tensor) if one.name == name):
        for array in map(graph.real, one.inputs):
            if array is not None and array.size == width:
                return array.reshape(-1), one.outputs[0]
    return None, tensor


def weights_of(parts: Parts) -> dict[str, Floats]:
    """Return `{path: array}` of the encoder of these parts, without its table, and its settings."""
    weights = {"positions/embeddings": parts.vectors["positions"], SETTINGS: as_array(parts.settings)}
    weights |= {name.replace(".", "/"): vector for name, vector in parts.vectors.items() if name != "positions"}
    for name, product in parts.products.items():
        path = name.replace(".", "/")
        if path.endswith("/looked"):
            weights |= _looked(path.removesuffix("looked"), product, parts.settings["heads"])
            continue
        weights[f"{path}/kernel"] = product.kernel
        if name not in ("factor", "projection"):
            weights[f"{path}/bias"] = product.bias
    return weights


def _looked(block: str, product: Product, heads: int) -> dict[str, Floats]:
    """Query, key and value side by side; the query's numbers have the scores' divisor in them."""
    divisor = np.sqrt(np.float32(product.outputs // len(LOOKED) // heads))
    scales = dict(zip(LOOKED, (divisor, 1, 1), strict=True))
    kernels, biases = np.split(product.kernel, 3, axis=1), np.split(product.bias, 3)
    weights = {}
    for name, kernel, bias in zip(LOOKED, kernels, biases, strict=True):
        weights |= {f"{block}{name}/kernel": kernel * scales[name], f"{block}{name}/bias": bias * scales[name]}
    return weights
