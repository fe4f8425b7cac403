"""The weights of a student out of its flatbuffer, by the names that `students.from_weights` takes.

What an artefact multiplied out stays so: the student of these weights gives the artefact's vectors, and is another in
between.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Floats
from ..families.registry import family_part
from ..weights.codecs import CODECS, decoded
from .graph import Graph
from .parts import as_graph_error, parts_of


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Return `{name: array}` of the student in a flatbuffer, its table of so many `rows` in the format `codec`.

    Raises `ExportError` for a graph that is none of ours.
    """
    graph = Graph(content)
    parts = parts_of(graph)
    with as_graph_error():
        weights = family_part(parts.family, "stored", "a bundle").weights_of(parts)
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
