"""Write a flatbuffer from the schema's objects, and give a converted graph its signature."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import flatbuffers
import numpy as np

if TYPE_CHECKING:
    from ai_edge_litert.schema_py_generated import ModelT

# The alignment of a buffer in the schema, which the package's own packing ignores.
ALIGNMENT = 16
IDENTIFIER = b"TFL3"
# The names of a SavedModel's signature and of its output.
SIGNATURE, OUTPUT = b"serving_default", b"output_0"


def pack_model(model: ModelT, size: int) -> bytes:
    """Serialise a model to a flatbuffer.

    Args:
        size: The approximate size in bytes.
    """
    from ai_edge_litert import schema_py_generated as schema

    for buffer in model.buffers:
        buffer.Pack = partial(_pack_buffer, schema, buffer)
    builder = flatbuffers.Builder(size)
    builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def add_signature(content: bytes) -> bytes:
    """Add to a flatbuffer with one input and one output the signature that a SavedModel's would have."""
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content, 0)
    [graph], signature = model.subgraphs, schema.SignatureDefT()
    [start], [end] = graph.inputs, graph.outputs
    signature.signatureKey, signature.subgraphIndex = SIGNATURE, 0
    signature.inputs = [_tensor_map(schema, graph.tensors[start].name, start)]
    signature.outputs = [_tensor_map(schema, OUTPUT, end)]
    model.signatureDefs = [signature]
    return pack_model(model, len(content))


def _tensor_map(schema, name, tensor):
    place = schema.TensorMapT()
    place.name, place.tensorIndex = name, int(tensor)
    return place


def _pack_buffer(schema, buffer, builder):
    """Pack a buffer as the schema does, with its alignment."""
    data = None if buffer.data is None else _create_vector(builder, np.asarray(buffer.data, dtype=np.uint8))
    schema.BufferStart(builder)
    if data is not None:
        schema.BufferAddData(builder, data)
    schema.BufferAddOffset(builder, buffer.offset)
    schema.BufferAddSize(builder, buffer.size)
    return schema.BufferEnd(builder)


def _create_vector(builder, data):
    """Create a vector as `Builder.CreateNumpyVector` does, with the schema's alignment."""
    builder.StartVector(1, len(data), ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data.tobytes()
    return builder.EndVector()
