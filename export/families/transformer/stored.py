"""Find the parts of a transformer in its flatbuffer, and its weights in these or in the constants of an ONNX file.

Layers are recognised by their order and by what reads them, not by the names of tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....students.families import SETTINGS, read_settings, settings_as_array
from ....system.types import Floats, Json
from ...onnx.model import kernel_of, table_of
from ...tflite.graph import Graph, Operator, Product
from ...tflite.weights import Parts
from ...weights.codecs import decode_rows


def is_modern(graph: Graph) -> bool:
    """Return True for a graph with rotary position embeddings."""
    return graph.has("SIN")


def norm_names(depth: int) -> list[str]:
    """Return the names of the normalisations of `depth` blocks, in the order of computation."""
    blocks = [f"block_{place}.{name}" for place in range(depth) for name in ("attention_norm", "norm")]
    return ["positions.norm", *blocks[1:], "final_norm"]


def attention_of(graph: Graph) -> dict[str, Json]:
    """Return the settings of the blocks' attention."""
    local, window = _windows(graph)
    thetas, depth = _thetas(graph), len(_scores(graph))
    # If all blocks are of one kind, the other kind's theta is not in the graph.
    wide = next((thetas[place] for place in range(depth) if place not in local), thetas[0])
    near = next((thetas[place] for place in local), wide)
    facts: dict[str, Json] = {"block": "modern", "local": local, "global_theta": wide, "local_theta": near}
    return facts if window is None else {**facts, "window": window}


def units_before_activation(graph: Graph, first: Product) -> int:
    """Return the tensor of the hidden units before their activation, which are the first half of a product."""
    return next(one.outputs[0] for one in graph.readers(first.end) if one.name == "STRIDED_SLICE")


def _scores(graph):
    return [operator for operator in graph.operators if operator.name == "SOFTMAX"]


def _windows(graph):
    """Return the blocks that attend to neighbours only, and the number of neighbours on each side, or None."""
    beyond = next((one for one in graph.operators if one.name == "SUB" and _is_distance(graph, one.inputs[0])), None)
    if beyond is None:
        return [], None
    after = graph.after(beyond)
    added = [graph.producer(one.inputs[0]) for one in _scores(graph)]
    # What is added to the scores depends on positions only.
    local = [
        place
        for place, one in enumerate(added)
        if one and one.name == "ADD" and any(tensor in after and not graph.behind(tensor) for tensor in one.inputs)
    ]
    return local, round(float(graph.real(beyond.inputs[1])))


def _is_distance(graph, tensor):
    """Return True for a tensor that is the maximum of two differences."""
    larger = graph.producer(tensor)
    if larger is None or larger.name != "MAXIMUM":
        return False
    return all((one := graph.producer(side)) is not None and one.name == "SUB" for side in larger.inputs)


def _thetas(graph):
    """Return the theta of each block, as the decimal number that float32 approximates."""
    thetas = {}
    for cosine in (one for one in graph.operators if one.name == "COS"):
        angles = graph.producer(cosine.inputs[0])
        (turns,) = (array for array in map(graph.real, angles.inputs) if array is not None)
        turns = turns.reshape(-1)
        # The last frequency is theta to the power of 2 / s - 1 for heads of size s; for s = 2 the only one is 1.
        theta = float(turns[-1]) ** -(len(turns) / max(len(turns) - 1, 1))
        for turned in graph.readers(cosine.outputs[0]):
            thetas[max(graph.behind(turned.outputs[0]))] = float(f"{theta:.6g}")
    return [thetas[place] for place in sorted(thetas)]


LAYERS = ("looked", "attention", "first", "second")
# The products of a block some of whose hidden units are multiplied in 8 bits and all others in 4.
MIXED_LAYERS = ("looked", "attention", "first", "wide", "second")
NORMS = ("attention_norm", "norm")
# The poolings by the operators that compute them.
POOLINGS = {"SUM": "mean", "STRIDED_SLICE": "first", "REDUCE_MAX": "max"}
ACTIVATIONS = {"GELU": "gelu", "RELU": "relu", "TANH": "tanh"}
ATTENTION_INPUTS = ("query", "key", "value")
# The layers that read the same rows and are stored as one product, by its name; a block without gates has only `first`.
SHARED = {"looked": ATTENTION_INPUTS, "first": ("first", "gate")}


def owns(graph: Graph) -> bool:
    """Return True for the graph of a transformer, which is the only family with attention."""
    return graph.has("SOFTMAX")


def parts_of(graph: Graph) -> Parts:
    """Find the parts of a student.

    The products are `factor` behind a factorised table, "block_0.looked", which is query, key and value, and the others
    of `LAYERS` for each block, `dense` and `projection`. The vectors are gains and biases of normalisations, and
    "positions.embeddings".
    """
    products = _products(graph)
    looked, first = (products[f"block_0.{name}"] for name in ("looked", "first"))
    width, modern = looked.inputs, is_modern(graph)
    vectors = _norms(graph, width) | ({} if modern else {"positions.embeddings": _positions(graph, width)})
    (shape,) = (graph.read_constant(one.inputs[1]) for one in graph.readers(looked.end) if one.name == "RESHAPE")
    behind = products.get("dense")
    settings: dict[str, Json] = {
        "heads": int(shape[1]) // len(ATTENTION_INPUTS),
        "pooling": _pooling(graph, products),
        "dense": behind and _activation(graph, behind, behind.end),
        "epsilon": _epsilon(graph),
        "activation": _activation(graph, first, units_before_activation(graph, first) if modern else first.end),
        **(attention_of(graph) if modern else {}),
    }
    rows = products["factor"].inputs if "factor" in products else width
    return Parts("transformer", products, vectors, rows, (), list(products)[-1], settings)


def _products(graph: Graph) -> dict[str, Product]:
    scores = [operator for operator in graph.operators if operator.name == "SOFTMAX"]
    # The first scores depend on the first block's first product, and on a factor before it, if there is one.
    begin = len(graph.behind(scores[0].outputs[0])) - 1
    layers = _layers(graph, graph.products[begin:])
    names = [f"block_{place}.{name}" for place in range(len(scores)) for name in layers]
    named = dict(zip(["factor"][:begin] + names, graph.products, strict=False))
    return named | _products_after_pooling(graph, graph.products[begin + len(layers) * len(scores) :])


def _layers(graph: Graph, products: Sequence[Product]) -> tuple[str, ...]:
    """Return the names of a block's products; the one behind the hidden units may be two, for some of them each."""
    behind = graph.producer(products[len(LAYERS) - 1].start)
    return MIXED_LAYERS if behind and behind.name == "STRIDED_SLICE" else LAYERS


def _products_after_pooling(graph: Graph, products: Sequence[Product]) -> dict[str, Product]:
    """Return the products behind the pooling; a projection reads what is kept apart by a MAXIMUM."""
    if not products:
        return {}
    *before, last = products
    producer = graph.producer(last.start)
    if producer and producer.name == "MAXIMUM":
        return {**dict(zip(["dense"], before, strict=False)), "projection": last}
    return {"dense": last}


def _positions(graph: Graph, width: int) -> Floats:
    arrays = graph.positions()
    if len(arrays) == 1:
        return decode_rows("float32", [np.ascontiguousarray(arrays[0]).view(np.float32)], width)
    return decode_rows("uint8", arrays, width)


def _activation(graph: Graph, product: Product, end: int) -> str:
    """Return the name of the function that is applied to a product whose result is the tensor `end`."""
    if product.relu:
        return "relu"
    following = next((one for one in graph.readers(end) if one.name in ACTIVATIONS), None)
    if following is None:
        return "linear"
    return ACTIVATIONS[following.name] + "_tanh" * following.approximate


def _pooling(graph: Graph, products: dict[str, Product]) -> str:
    """Return the name of the first operator behind all blocks that makes one row of many."""
    blocks = [place for place, name in enumerate(products) if name not in ("dense", "projection")]
    done = next(place for place, one in enumerate(graph.operators) if len(graph.behind(one.outputs[0])) == len(blocks))
    return next(POOLINGS[one.name] for one in graph.operators[done:] if one.name in POOLINGS)


def _roots(graph: Graph) -> list[Operator]:
    """Return the operators that normalisations divide by; those of unit length take the root of a MAXIMUM."""
    return [one for one in graph.operators if one.name == "RSQRT" and _sum(graph, one).name == "ADD"]


def _sum(graph: Graph, root: Operator) -> Operator:
    producer = graph.producer(root.inputs[0])
    if producer is None:
        raise ValueError("a root of an input")
    return producer


def _epsilon(graph: Graph) -> float:
    added = _sum(graph, _roots(graph)[0])
    epsilon = next(value for tensor in added.inputs if (value := graph.real(tensor)) is not None)
    # The decimal number that float32 approximates.
    return float(f"{float(epsilon):.6g}")


def _norms(graph: Graph, width: int) -> dict[str, Floats]:
    """Return gains and biases of all normalisations; a converter leaves out ones and zeros."""
    vectors: dict[str, Floats] = {}
    roots, modern = _roots(graph), is_modern(graph)
    depth = len(roots) // 2
    names = [f"block_{place}.{name}" for place in range(depth) for name in NORMS]
    for name, root in zip(norm_names(depth) if modern else ["positions.norm", *names], roots, strict=True):
        (scaled,) = (one.outputs[0] for one in graph.readers(root.outputs[0]) if one.name == "MUL")
        gamma, scaled = _vector(graph, scaled, "MUL", width)
        beta, _ = _vector(graph, scaled, "ADD", width)
        vectors[f"{name}.gamma"] = np.ones(width, np.float32) if gamma is None else gamma
        if not modern:
            vectors[f"{name}.beta"] = np.zeros(width, np.float32) if beta is None else beta
    return vectors


def _vector(graph: Graph, tensor: int, name: str, width: int) -> tuple[Floats | None, int]:
    """Return the vector that an operator of this name applies to a tensor, or None, and the resulting tensor."""
    for one in (one for one in graph.readers(tensor) if one.name == name):
        for array in map(graph.real, one.inputs):
            if array is not None and array.size == width:
                return array.reshape(-1), one.outputs[0]
    return None, tensor


def weights_of(parts: Parts) -> dict[str, Floats]:
    """Return the weights of the student by path, without its table, and its settings."""
    weights = {name.replace(".", "/"): vector for name, vector in parts.vectors.items()}
    modern = parts.settings.get("block") == "modern"
    for name, product in parts.products.items():
        path = name.replace(".", "/")
        if path.endswith("/wide"):
            continue
        biased = name not in ("factor", "projection") and not (modern and path.startswith("block_"))
        layers = SHARED.get(path.rpartition("/")[2], ()) if modern or path.endswith("/looked") else ()
        bias = product.bias if biased else None
        wide = parts.products.get(name.replace(".second", ".wide")) if name.endswith(".second") else None
        kernel = product.kernel if wide is None else np.concatenate([wide.kernel, product.kernel])
        weights |= split_shared(path, layers, kernel, bias)
    divisor = np.sqrt(
        np.float32(parts.products["block_0.looked"].outputs // len(ATTENTION_INPUTS) // parts.settings["heads"])
    )
    # The export merged the divisor of the scores into the query.
    weights |= {name: array * divisor for name, array in weights.items() if "/query/" in name}
    return {**weights, SETTINGS: settings_as_array(parts.settings)}


def split_shared(path: str, layers: Sequence[str], kernel: Floats, bias: Floats | None) -> dict[str, Floats]:
    """Split a product with a kernel `(in, out)` and perhaps a bias `(out,)` into its layers."""
    block = path.rpartition("/")[0]
    paths = [f"{block}/{name}" for name in layers] or [path]
    weights = dict(zip((f"{one}/kernel" for one in paths), np.split(kernel, len(paths), axis=1), strict=True))
    if bias is not None:
        weights |= zip((f"{one}/bias" for one in paths), np.split(bias, len(paths)), strict=True)
    return weights


def owns_arrays(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants of a transformer, which are given by name."""
    return "block_0/looked/kernel" in arrays


def weights_of_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
    """Return the weights of the student by path, its settings, and as `width` one number per column of the table."""
    width = arrays["positions/norm/gamma"]
    weights = {name: array for name, array in arrays.items() if name.endswith(("norm/gamma", "norm/beta"))}
    modern = read_settings(arrays).get("block") == "modern"
    for name in (name.removesuffix("/kernel") for name in arrays if name.endswith("/kernel")):
        layers = SHARED.get(name.rpartition("/")[2], ()) if modern or name.endswith("/looked") else ()
        weights |= split_shared(name, layers, kernel_of(arrays, name), arrays.get(f"{name}/bias"))
    if "positions/0" in arrays:
        codec = "uint8" if "positions/1" in arrays else "float32"
        weights["positions/embeddings"] = table_of(arrays, codec, width.size, "positions")
    return {**weights, SETTINGS: arrays[SETTINGS], "width": weights.get("factor/kernel", width[:, None])[:, 0]}


FACTOR = "factor/kernel"


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the factor `(w, width)` behind an embedding table that is multiplied by an orthogonal matrix, by its path.

    Position embeddings are added to the rows, so a table without a factor gets one.
    """
    return {FACTOR: basis.T @ weights[FACTOR] if FACTOR in weights else basis.T}
