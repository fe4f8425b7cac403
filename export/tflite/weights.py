"""The weights of a student out of its flatbuffer, by the names that `students.from_weights` takes.

What an artefact multiplied out stays so: the student of these weights gives the artefact's vectors, and is another in
between.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Floats
from ..weights.codecs import CODECS, decoded
from ..weights.parted import parted
from .graph import Graph
from .parts import CONVOLUTIONS, HEAD, STATIC, Parts, as_graph_error, parts_of


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Return `{name: array}` of the student in a flatbuffer, its table of so many `rows` in the format `codec`.

    Raises `ExportError` for a graph that is none of ours.
    """
    graph = Graph(content)
    parts = parts_of(graph)
    with as_graph_error():
        weights = _static(parts) if parts.static else _ngram(parts)
        table = _table(codec, _arrays(graph, rows), rows, parts.width)
    return {"embedding/embeddings": table, **weights}


def rows_in(content: bytes, rows: int, codec: str) -> Floats:
    """Return the table of so many `rows` as float32 `(rows, width)`, without what `weights_in` makes beside it.

    Raises `ExportError` for a graph that is none of ours.
    """
    graph = Graph(content)
    width = parts_of(graph).width
    with as_graph_error():
        return _table(codec, _arrays(graph, rows), rows, width)


def table_in(content: bytes, rows: int, codec: str) -> tuple[np.ndarray, ...]:
    """Return the arrays of a table of so many `rows` as the format `codec` stores them.

    Raises `ExportError` for a graph that has no such table.
    """
    with as_graph_error():
        return tuple(_stored(codec, _arrays(Graph(content), rows)))


def arrays_in(content: bytes, rows: int) -> tuple[np.ndarray, ...]:
    """Return the arrays that the table of so many `rows` is stored in, codebooks last."""
    return tuple(_arrays(Graph(content), rows))


def _arrays(graph, rows):
    return [graph.constant(tensor) for part in graph.lookups(rows) for tensor in part]


def _stored(codec, arrays):
    if codec == "float32":
        (bits,) = arrays
        arrays = [np.ascontiguousarray(bits).view(np.float32)]
    if len(arrays) != CODECS[codec].arrays:
        raise ValueError("the table is in another format")
    return arrays


def _table(codec, arrays, rows, width):
    return np.ascontiguousarray(decoded(codec, _stored(codec, arrays), width)[:rows])


def _static(parts: Parts) -> dict[str, Floats]:
    first, second, lift = (parts.products[name] for name in STATIC[-3:])
    weights = {
        "residual/first/kernel": first.kernel,
        "residual/first/bias": first.bias,
        "residual/second/kernel": second.kernel,
        "residual/lift/kernel": lift.kernel,
    }
    if parts.orders:
        before, after = (parts.products[name] for name in STATIC[:2])
        weights |= {"context/first/kernel": before.kernel, "context/first/bias": before.bias}
        weights |= {"context/second/kernel": after.kernel}
    return weights


def _ngram(parts: Parts) -> dict[str, Floats]:
    weights = {f"head/{name}/kernel": parts.products[name].kernel for name in HEAD}
    weights |= (
        _projection(parts) | _pooling(parts, weights["head/fourth/kernel"].shape[1]) | _norm(parts, "norm", "norm")
    )
    factor = parts.products["factor"].kernel if "factor" in parts.products else None
    for place, order in enumerate(parts.orders):
        weights |= _branch(parts, f"branch{place}", f"order_{order}", factor)
    return weights | ({} if factor is None else {"factor/kernel": factor})


def _projection(parts: Parts) -> dict[str, Floats]:
    if "projection" in parts.products:
        return {"projection/kernel": parts.products["projection"].kernel}
    if "projection.up" not in parts.products:
        return {}
    down, up = parts.products["projection.down"].kernel, parts.products["projection.up"].kernel
    return {"projection/kernel": np.eye(len(down), dtype=np.float32) - down @ up}


def _pooling(parts: Parts, dimension: int) -> dict[str, Floats]:
    kernel, bias, following = parted(parts.products["pooling"].kernel, parts.vectors["pooling.offset"], dimension)
    first, skip = np.split(following, 2, axis=1)
    return {
        "pooling/dense/kernel": kernel,
        "pooling/bias": bias,
        "head/first/kernel": first,
        "head/second_skip/kernel": skip,
    }


def _branch(parts: Parts, branch: str, name: str, factor: Floats | None) -> dict[str, Floats]:
    projection = parts.products[f"{branch}.project"]
    # The factor is multiplied into what reads the rows.
    kernel = projection.kernel if factor is None else (np.linalg.pinv(factor) @ projection.kernel).astype(np.float32)
    weights = {f"{name}/projection/kernel": kernel, f"{name}/projection/bias": projection.bias}
    for part in CONVOLUTIONS:
        if product := parts.products.get(f"{branch}.{part}"):
            weights |= {f"{name}/{part}/dense/kernel": product.kernel, f"{name}/{part}/dense/bias": product.bias}
    return weights | _norm(parts, f"{branch}.norm", f"{name}/norm")


def _norm(parts: Parts, norm: str, name: str) -> dict[str, Floats]:
    return {f"{name}/{part}": parts.vectors[f"{norm}.{part}"] for part in ("gamma", "beta")}
