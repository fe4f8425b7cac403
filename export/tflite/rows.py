"""Replace the rows of a flatbuffer's embedding table; codes and scales that are copied stay the same."""

from __future__ import annotations

import copy

import numpy as np

from ..weights.codecs import CODECS, TableEdit
from .graph import Graph
from .packing import pack_model


def with_table(content: bytes, rows: int, codec: str, remade: TableEdit) -> bytes:
    """Replace the arrays of the embedding table.

    Args:
        codec: The format of the table, a key of `CODECS`.
        remade: A function from the stored arrays to the new ones.

    Raises:
        ValueError: If there is no such table.
    """
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
