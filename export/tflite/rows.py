"""A flatbuffer with fewer rows in its table: codes and scales are copied, so that a row is what it was."""

from __future__ import annotations

from functools import partial

import flatbuffers
import numpy as np

from ...system.types import Integers
from .graph import Graph

# The schema's alignment of a buffer, which the package's own packing leaves out.
ALIGNMENT = 16
IDENTIFIER = b"TFL3"


def with_rows(content: bytes, rows: int, kept: Integers) -> bytes:
    """Return the flatbuffer with the `kept` of its table's `rows` alone, in their order."""
    from ai_edge_litert import schema_py_generated as schema

    graph = Graph(content)
    tables, _ = graph.lookups(rows)
    numbers = {graph.buffer(tensor) for tensor in tables}
    if not numbers:
        raise ValueError(f"no table of {rows} rows")
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    for tensor in (tensor for part in model.subgraphs for tensor in part.tensors if tensor.buffer in numbers):
        tensor.shape = np.array([len(kept), *tensor.shape[1:]], dtype=np.int32)
    for number in numbers:
        model.buffers[number].data = model.buffers[number].data.reshape(rows, -1)[kept].reshape(-1)
    for buffer in model.buffers:
        buffer.Pack = partial(_packed, schema, buffer)
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _packed(schema, buffer, builder):
    """`BufferT.Pack` with the schema's alignment."""
    data = None if buffer.data is None else _vector(builder, np.asarray(buffer.data, dtype=np.uint8))
    schema.BufferStart(builder)
    if data is not None:
        schema.BufferAddData(builder, data)
    schema.BufferAddOffset(builder, buffer.offset)
    schema.BufferAddSize(builder, buffer.size)
    return schema.BufferEnd(builder)


def _vector(builder, data):
    """`Builder.CreateNumpyVector` with the schema's alignment."""
    builder.StartVector(1, len(data), ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data.tobytes()
    return builder.EndVector()
