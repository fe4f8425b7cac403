"""Read the weights of a student from its flatbuffer, by the names that `students.project` takes.

Layers that the export merged stay merged: a student with these weights returns the artefact's vectors, but differs from
the original inside.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Floats
from ..families.registry import family_part
from ..weights.codecs import CODECS, decode_rows
from .graph import Graph
from .parts import as_graph_error, parts_of


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Read the weights of the student in a flatbuffer.

    Args:
        rows: The number of rows of its embedding table.
        codec: The format of the table, a key of `CODECS`.

    Raises:
        ExportError: If the graph is not a student's.
    """
    graph = Graph(content)
    parts = parts_of(graph)
    with as_graph_error():
        weights = family_part(parts.family, "stored", "a bundle").weights_of(parts)
        table = _table(codec, _arrays(graph, rows), rows, parts.width)
    return {"embedding/embeddings": table, **weights}


def rows_in(content: bytes, rows: int, codec: str) -> Floats:
    """Decode the embedding table of a flatbuffer, without reading all other weights.

    Args:
        codec: The format of the table, a key of `CODECS`.

    Returns:
        float32 array `(rows, width)`.

    Raises:
        ExportError: If the graph is not a student's.
    """
    graph = Graph(content)
    width = parts_of(graph).width
    with as_graph_error():
        return _table(codec, _arrays(graph, rows), rows, width)


def table_in(content: bytes, rows: int, codec: str) -> tuple[np.ndarray, ...]:
    """Return the arrays of the embedding table as its format stores them.

    Args:
        codec: The format of the table, a key of `CODECS`.

    Raises:
        ExportError: If the graph has no such table.
    """
    with as_graph_error():
        return tuple(_read_stored(codec, _arrays(Graph(content), rows)))


def arrays_in(content: bytes, rows: int) -> tuple[np.ndarray, ...]:
    """Return the arrays that the embedding table is stored in, codebooks last."""
    return tuple(_arrays(Graph(content), rows))


def _arrays(graph, rows):
    return [graph.constant(tensor) for part in graph.lookups(rows) for tensor in part]


def _read_stored(codec, arrays):
    if codec == "float32":
        (bits,) = arrays
        arrays = [np.ascontiguousarray(bits).view(np.float32)]
    if len(arrays) != CODECS[codec].arrays:
        raise ValueError("the table is in another format")
    return arrays


def _table(codec, arrays, rows, width):
    return np.ascontiguousarray(decode_rows(codec, _read_stored(codec, arrays), width)[:rows])
