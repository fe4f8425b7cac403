"""Find the parts of an n-gram student in its flatbuffer, and its weights in these or in the constants of an ONNX file.

Layers are recognised by what they are computed from, not by the names of tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....students.linear import factorize_dense
from ....system.types import Floats
from ...onnx.model import kernel_of
from ...tflite.graph import Graph, Product
from ...tflite.weights import Parts

HEAD = ("second", "third", "fourth_skip", "fourth")
CONVOLUTIONS = ("first", "second")
PROJECTIONS = ("projection", "projection.up")


def owns(graph: Graph) -> bool:
    """Return True for the graph of an n-gram student: no other one without attention has a hyperbolic tangent."""
    return sum(operator.name == "TANH" for operator in graph.operators) == 1 and not graph.has("SOFTMAX")


def parts_of(graph: Graph) -> Parts:
    """Find the parts of a student.

    The products are `factor` behind a factorised table, "branch0.project", "branch0.first", "branch0.second" and so on
    for more branches, `pooling`, which is merged with the head's first two, those of `HEAD`, and "projection", or
    "projection.down" and "projection.up". The vectors are gains and biases of normalisations, and the bias of pooling.
    """
    products, behind = graph.products, graph.behind
    (tanh,) = (operator for operator in graph.operators if operator.name == "TANH")
    inside = behind(tanh.inputs[0])
    # Of two products that are computed from the same, `third` has the ReLU.
    order = sorted(inside, key=lambda place: (len(behind(products[place].start)), not products[place].relu))
    pooling, *head = order[-5:]
    layers = {name: products[place] for name, place in zip(HEAD, head, strict=True)}
    layers |= _projection([product for place, product in enumerate(products) if place not in inside])
    branches, vectors = _branches(graph, products[pooling])
    layers |= branches | {"pooling": products[pooling]}
    last = next((name for name in PROJECTIONS if name in layers), "fourth")
    vectors |= {"pooling.offset": _pooling_bias(graph, pooling)}
    return Parts("ngram", layers, vectors, layers["branch0.project"].inputs, _orders(layers), last)


def _orders(layers: Mapping[str, Product]) -> tuple[int, ...]:
    count = sum(name.endswith(".project") for name in layers)
    pairs = [(f"branch{place}.first", f"branch{place}.project") for place in range(count)]
    return tuple(layers[window].inputs // layers[rows].outputs for window, rows in pairs if window in layers)


def _projection(products: Sequence[Product]) -> dict[str, Product]:
    names = ("projection",) if len(products) == 1 else ("projection.down", "projection.up")
    return dict(zip(names, products, strict=True)) if products else {}


def _pooling_bias(graph: Graph, place: int) -> Floats:
    """Return the bias of pooling, which is added once per token."""
    inside = graph.behind(graph.products[place].end)
    sums = (one for one in graph.operators if one.name == "ADD" and graph.behind(one.outputs[0]) == inside)
    counted = (graph.producer(tensor) for one in sums for tensor in one.inputs if not graph.behind(tensor))
    vectors = (graph.real(tensor) for one in counted if one and one.name == "MUL" for tensor in one.inputs)
    # The converter leaves out what adds zeros.
    zeros = np.zeros(graph.products[place].outputs, np.float32)
    return next((vector for vector in vectors if vector is not None), zeros)


def _branches(graph: Graph, pooling: Product) -> tuple[dict[str, Product], dict[str, Floats]]:
    products, behind, inside = graph.products, graph.behind, graph.behind(pooling.start)
    # The last concatenation before pooling; those of windows come before it.
    joined = [one for one in graph.operators if one.name == "CONCATENATION" and behind(one.outputs[0]) == inside][-1]
    rows, *ends = joined.inputs
    layers = dict(zip(("factor",), (products[place] for place in behind(rows)), strict=False))
    vectors = _norm(graph, "norm", inside, pooling.inputs)
    for number, end in enumerate(ends):
        name, places = f"branch{number}", sorted(behind(end), key=lambda place: len(behind(products[place].start)))
        names = ("project", *CONVOLUTIONS)[: len(places)]
        layers |= {f"{name}.{part}": products[place] for part, place in zip(names, places, strict=True)}
        vectors |= _norm(graph, f"{name}.norm", frozenset(places[:1]), products[places[0]].outputs)
    return layers, vectors


def _norm(graph: Graph, name: str, inside: frozenset[int], size: int) -> dict[str, Floats]:
    """Return gain and bias of the normalisation behind only these products; a converter leaves out ones and zeros."""
    ends, parts = {graph.products[place].end for place in inside}, {}
    steps = (one for one in graph.operators if one.name in ("MUL", "ADD") and one.outputs[0] not in ends)
    for one in (one for one in steps if graph.behind(one.outputs[0]) == inside):
        for array in map(graph.real, one.inputs):
            if array is not None and array.size == size:
                parts[one.name] = array
    ones = np.ones(size, np.float32)
    return {f"{name}.gamma": parts.get("MUL", ones), f"{name}.beta": parts.get("ADD", np.zeros_like(ones))}


def weights_of(parts: Parts) -> dict[str, Floats]:
    """Return the weights of the student by path, without its table."""
    weights = {f"head/{name}/kernel": parts.products[name].kernel for name in HEAD}
    weights |= (
        _projection_of(parts)
        | _pooling_of(parts, weights["head/fourth/kernel"].shape[1])
        | _norm_of(parts, "norm", "norm")
    )
    factor = parts.products["factor"].kernel if "factor" in parts.products else None
    for place, order in enumerate(parts.orders):
        weights |= _branch_of(parts, f"branch{place}", f"order_{order}", factor)
    return weights | ({} if factor is None else {"factor/kernel": factor})


def _projection_of(parts: Parts) -> dict[str, Floats]:
    if "projection" in parts.products:
        return {"projection/kernel": parts.products["projection"].kernel}
    if "projection.up" not in parts.products:
        return {}
    down, up = parts.products["projection.down"].kernel, parts.products["projection.up"].kernel
    return {"projection/kernel": np.eye(len(down), dtype=np.float32) - down @ up}


def _pooling_of(parts: Parts, dimension: int) -> dict[str, Floats]:
    kernel, bias, following = factorize_dense(
        parts.products["pooling"].kernel, parts.vectors["pooling.offset"], dimension
    )
    first, skip = np.split(following, 2, axis=1)
    return {
        "pooling/dense/kernel": kernel,
        "pooling/bias": bias,
        "head/first/kernel": first,
        "head/second_skip/kernel": skip,
    }


def _branch_of(parts: Parts, branch: str, name: str, factor: Floats | None) -> dict[str, Floats]:
    projection = parts.products[f"{branch}.project"]
    # The artefact has the factor multiplied into the projection.
    kernel = projection.kernel if factor is None else (np.linalg.pinv(factor) @ projection.kernel).astype(np.float32)
    weights = {f"{name}/projection/kernel": kernel, f"{name}/projection/bias": projection.bias}
    for part in CONVOLUTIONS:
        if product := parts.products.get(f"{branch}.{part}"):
            weights |= {f"{name}/{part}/dense/kernel": product.kernel, f"{name}/{part}/dense/bias": product.bias}
    return weights | _norm_of(parts, f"{branch}.norm", f"{name}/norm")


def _norm_of(parts: Parts, norm: str, name: str) -> dict[str, Floats]:
    return {f"{name}/{part}": parts.vectors[f"{norm}.{part}"] for part in ("gamma", "beta")}


def owns_arrays(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants of an n-gram student, which are given by name."""
    return "projections/kernel" in arrays


def weights_of_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
    """Return the weights of the student by path, and as `width` an array with one number per column of the table."""
    names = [name.split("/")[0] for name in arrays if name.startswith("order_") and name.endswith("/norm/gamma")]
    projections, biases = kernel_of(arrays, "projections"), np.split(arrays["projections/bias"], len(names))
    weights = {f"head/{part}/kernel": kernel_of(arrays, f"head/{part}") for part in ("second", "fourth")}
    inner = len(weights["head/fourth/kernel"])
    pairs = {"hidden": ("first", "second_skip"), "output": ("third", "fourth_skip")}
    for name, parts in pairs.items():
        both = kernel_of(arrays, f"head/{name}")
        place = inner if name == "output" else both.shape[1] // 2
        weights |= zip((f"head/{part}/kernel" for part in parts), np.split(both, [place], axis=1), strict=True)
    for name, kernel, bias in zip(names, np.split(projections, len(names), axis=1), biases, strict=True):
        weights |= {f"{name}/projection/kernel": kernel, f"{name}/projection/bias": bias}
        for part in ("first", "second"):
            if f"{name}/{part}/bias" in arrays:
                weights[f"{name}/{part}/dense/kernel"] = kernel_of(arrays, f"{name}/{part}")
                weights[f"{name}/{part}/dense/bias"] = arrays[f"{name}/{part}/bias"]
    weights |= {name: array for name, array in arrays.items() if name.endswith(("norm/gamma", "norm/beta"))}
    weights |= {"pooling/dense/kernel": kernel_of(arrays, "pooling"), "pooling/bias": arrays["pooling/bias"]}
    for name in ("factor", "projection"):
        if f"{name}/kernel" in arrays:
            weights[f"{name}/kernel"] = kernel_of(arrays, name)
    return weights | {"width": weights.get("factor/kernel", projections)[:, 0]}


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the weights that change if the embedding table is multiplied by an orthogonal matrix `(w, w)`.

    The gains of the normalisation, which differ by column of the table, are merged into pooling's dense layer, except
    for their size. The mean and the variance of the features stay the same, as `basis` keeps the mean.
    """
    if "factor/kernel" in weights:
        return {"factor/kernel": basis.T @ weights["factor/kernel"]}
    width, gains, biases = len(basis), weights["norm/gamma"].copy(), weights["norm/beta"].copy()
    size = np.sqrt(np.mean(np.square(gains[:width]))) or 1
    kernel = weights["pooling/dense/kernel"].astype(np.float64)
    changed: dict[str, NDArray[np.floating]] = {
        "pooling/bias": weights["pooling/bias"] + biases[:width] @ kernel[:width]
    }
    kernel[:width] = basis.T @ (kernel[:width] * (gains[:width, None] / size))
    gains[:width], biases[:width] = size, 0
    readers = [name for name in weights if name.endswith("projection/kernel") and name.startswith("order_")]
    changed |= {name: basis.T @ weights[name] for name in readers}
    return {**changed, "norm/gamma": gains, "norm/beta": biases, "pooling/dense/kernel": kernel}
