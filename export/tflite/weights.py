"""The weights of a student out of its flatbuffer, by the names that `students.from_weights` takes.

What an artefact multiplied out stays so: the student of these weights gives the artefact's vectors, and is another in
between. Layers are told by what they are computed from, not by the names of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ExportError
from ...students.from_weights import parted
from ...system.types import Floats
from ..weights.codecs import CODECS, decoded
from .graph import Graph, Product

# Dense layers of a static student, with a window of tokens or without.
STATIC = (3, 5)
HEAD = ("second", "third", "fourth_skip", "fourth")


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Return `{name: array}` of the student in a flatbuffer, its table of so many `rows` in the format `codec`.

    Raises `ExportError` for a graph that is none of ours.
    """
    graph = Graph(content)
    try:
        weights = _static(graph.products) if len(graph.products) in STATIC else _ngram(graph)
        width = weights.pop("width").size
        table = _table(codec, _arrays(graph, rows), rows, width)
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error
    return {"embedding/embeddings": table, **weights}


def arrays_in(content: bytes, rows: int) -> tuple[np.ndarray, ...]:
    """Return the arrays that the table of so many `rows` is stored in, codebooks last."""
    return tuple(_arrays(Graph(content), rows))


def _arrays(graph, rows):
    return [graph.constant(tensor) for part in graph.lookups(rows) for tensor in part]


def _table(codec, arrays, rows, width):
    if codec == "float32":
        (bits,) = arrays
        arrays = [np.ascontiguousarray(bits).view(np.float32)]
    if len(arrays) != CODECS[codec].arrays:
        raise ValueError("the table is in another format")
    return np.ascontiguousarray(decoded(codec, arrays, width)[:rows])


def _static(products: Sequence[Product]) -> dict[str, Floats]:
    *context, first, second, lift = products
    weights = {
        "residual/first/kernel": first.kernel,
        "residual/first/bias": first.bias,
        "residual/second/kernel": second.kernel,
        "residual/lift/kernel": lift.kernel,
        "width": first.kernel[:, 0],
    }
    if context:
        before, after = context
        weights |= {"context/first/kernel": before.kernel, "context/first/bias": before.bias}
        weights |= {"context/second/kernel": after.kernel}
    return weights


def _ngram(graph: Graph) -> dict[str, Floats]:
    products, behind = graph.products, graph.behind
    (tanh,) = (operator for operator in graph.operators if operator.name == "TANH")
    inside = behind(tanh.inputs[0])
    # Of two that are computed from the same, `third` has the ReLU.
    order = sorted(inside, key=lambda place: (len(behind(products[place].start)), not products[place].relu))
    pooling, *head = order[-5:]
    weights = {f"head/{name}/kernel": products[place].kernel for name, place in zip(HEAD, head, strict=True)}
    weights |= _projection([product for place, product in enumerate(products) if place not in inside])
    weights |= _pooling(graph, pooling, weights["head/fourth/kernel"].shape[1])
    return weights | _branches(graph, products[pooling])


def _projection(products: Sequence[Product]) -> dict[str, Floats]:
    if not products:
        return {}
    if len(products) == 1:
        return {"projection/kernel": products[0].kernel}
    down, up = products
    return {"projection/kernel": np.eye(len(down.kernel), dtype=np.float32) - down.kernel @ up.kernel}


def _pooling(graph: Graph, place: int, dimension: int) -> dict[str, Floats]:
    inside, kernel = graph.behind(graph.products[place].end), graph.products[place].kernel
    sums = (one for one in graph.operators if one.name == "ADD" and graph.behind(one.outputs[0]) == inside)
    counted = (graph.producer(tensor) for one in sums for tensor in one.inputs if not graph.behind(tensor))
    vectors = (graph.real(tensor) for one in counted if one and one.name == "MUL" for tensor in one.inputs)
    # The converter leaves out what adds zeros.
    bias = next((vector for vector in vectors if vector is not None), np.zeros(kernel.shape[1], np.float32))
    kernel, bias, following = parted(kernel, bias, dimension)
    first, skip = np.split(following, 2, axis=1)
    return {
        "pooling/dense/kernel": kernel,
        "pooling/bias": bias,
        "head/first/kernel": first,
        "head/second_skip/kernel": skip,
    }


def _branches(graph: Graph, pooling: Product) -> dict[str, Floats]:
    products, behind, inside = graph.products, graph.behind, graph.behind(pooling.start)
    # The last one before pooling: those of windows lie behind it.
    joined = [one for one in graph.operators if one.name == "CONCATENATION" and behind(one.outputs[0]) == inside][-1]
    rows, *ends = joined.inputs
    weights = _norm(graph, "norm", inside, len(pooling.kernel))
    factor = [products[place].kernel for place in behind(rows)]
    for end in ends:
        projection, *convolutions = sorted(behind(end), key=lambda place: len(behind(products[place].start)))
        first = products[projection]
        name = f"order_{products[convolutions[0]].kernel.shape[0] // first.kernel.shape[1]}"
        # The factor is multiplied into what reads the rows.
        kernel = (np.linalg.pinv(factor[0]) @ first.kernel).astype(np.float32) if factor else first.kernel
        weights |= {f"{name}/projection/kernel": kernel, f"{name}/projection/bias": first.bias}
        weights |= _norm(graph, f"{name}/norm", frozenset({projection}), len(first.bias))
        for part, place in zip(("first", "second"), convolutions, strict=False):
            weights |= {f"{name}/{part}/dense/kernel": products[place].kernel}
            weights |= {f"{name}/{part}/dense/bias": products[place].bias}
        weights["width"] = first.kernel[:, 0]
    return weights | ({"factor/kernel": factor[0]} if factor else {})


def _norm(graph: Graph, name: str, inside: frozenset[int], size: int) -> dict[str, Floats]:
    """Gain and bias of the normalisation of what these products alone are in; a converter leaves out ones and zeros."""
    ends, parts = {graph.products[place].end for place in inside}, {}
    steps = (one for one in graph.operators if one.name in ("MUL", "ADD") and one.outputs[0] not in ends)
    for one in (one for one in steps if graph.behind(one.outputs[0]) == inside):
        for array in map(graph.real, one.inputs):
            if array is not None and array.size == size:
                parts[one.name] = array
    ones = np.ones(size, np.float32)
    return {f"{name}/gamma": parts.get("MUL", ones), f"{name}/beta": parts.get("ADD", np.zeros_like(ones))}
