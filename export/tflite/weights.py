"""Read the parts and the weights of a student from its flatbuffer, by the names that `students.project` takes.

Layers that the export merged stay merged: a student with these weights returns the artefact's vectors, but differs from
the original inside. In a flatbuffer whose rows are replaced, codes and scales that are copied stay the same.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ...errors import ExportError
from ...system.types import Floats, Json
from ..families.registry import family_part, find_owner
from ..weights.codecs import CODECS, TableEdit, decode_rows
from .graph import Graph, Product
from .packing import pack_model


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Read the weights of the student in a flatbuffer. Raises `ExportError` if the graph is not a student's."""
    graph = Graph(content)
    parts = parts_of(graph)
    with as_graph_error():
        weights = family_part(parts.family, "stored", "a bundle").weights_of(parts)
        table = _table(codec, _arrays(graph, rows), rows, parts.width)
    return {"embedding/embeddings": table, **weights}


def rows_in(content: bytes, rows: int, codec: str) -> Floats:
    """Decode the embedding table of a flatbuffer, float32 `(rows, width)`, without reading all other weights."""
    graph = Graph(content)
    width = parts_of(graph).width
    with as_graph_error():
        return _table(codec, _arrays(graph, rows), rows, width)


def table_in(content: bytes, rows: int, codec: str) -> tuple[np.ndarray, ...]:
    """Return the arrays of the embedding table as its format stores them; raise `ExportError` if there is none."""
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


def with_table(content: bytes, rows: int, codec: str, remade: TableEdit) -> bytes:
    """Replace the arrays of the embedding table. Raises `ValueError` if there is no such table."""
    from ai_edge_litert import schema_py_generated as schema

    graph = Graph(content)
    tensors = [tensor for part in graph.lookups(rows) for tensor in part]
    if len(tensors) != CODECS[codec].arrays:
        raise ValueError(f"no table of {rows} rows in the format {codec}")
    stored = [graph.read_constant(tensor) for tensor in tensors]
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    for tensor, before, after in zip(tensors, stored, remade(stored), strict=True):
        if tensor == graph.count:
            _set_count(schema, model, after)
        elif after is not before:
            _set_array(model, graph.buffer(tensor), after)
    return pack_model(model, len(content))


def _set_array(model, number, array):
    """Put an array into a buffer, for every signature that reads it."""
    model.buffers[number].data = _content(array)
    for tensor in (tensor for part in model.subgraphs for tensor in part.tensors if tensor.buffer == number):
        tensor.shape = np.array(array.shape, dtype=np.int32)


def _set_count(schema, model, count):
    """Compare ids with another number, in a tensor of its own, as the converter stores equal constants once."""
    model.buffers.append(schema.BufferT())
    model.buffers[-1].data = _content(count)
    less = [place for place, code in enumerate(model.operatorCodes) if code.builtinCode == schema.BuiltinOperator.LESS]
    for part in model.subgraphs:
        (ids, old), new = next(one.inputs for one in part.operators if one.opcodeIndex in less), len(part.tensors)
        part.tensors.append(copy.copy(part.tensors[old]))
        part.tensors[new].buffer = len(model.buffers) - 1
        for one in (one for one in part.operators if {ids, old} <= set(one.inputs)):
            one.inputs = np.where(one.inputs == old, new, one.inputs)


def _content(array):
    return np.frombuffer(array.tobytes(), dtype=np.uint8)


@dataclass(frozen=True)
class Parts:
    """The dense layers and vectors of a student, named as the `stored.py` of its `family` documents."""

    family: str
    products: dict[str, Product]
    vectors: dict[str, Floats]
    width: int
    orders: tuple[int, ...]
    last: str
    settings: Mapping[str, Json] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of weights, without the table."""
        layers = sum(one.stored.size + (0 if one.added is None else one.added.size) for one in self.products.values())
        return layers + sum(vector.size for vector in self.vectors.values())


def parts_of(graph: Graph) -> Parts:
    """Find the parts of a student in its graph. Raises `ExportError` if the graph is not a student's."""
    with as_graph_error():
        return find_owner("stored", lambda family: family.owns(graph)).parts_of(graph)


@contextmanager
def as_graph_error() -> Iterator[None]:
    """Raise errors of looking for missing parts as `ExportError`."""
    try:
        yield
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error
