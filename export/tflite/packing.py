"""Write a flatbuffer from the schema's objects, with a signature, and with kernels of 4 bits where they fit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import flatbuffers
import numpy as np

from ..weights.kernels import LEVELS, LEVELS_OF_4

if TYPE_CHECKING:
    from ai_edge_litert.schema_py_generated import ModelT


# The alignment of a buffer in the schema, which the package's own packing ignores.
ALIGNMENT = 16
IDENTIFIER = b"TFL3"
# The names of a SavedModel's signature and of its output.
SIGNATURE, OUTPUT = b"serving_default", b"output_0"


def pack_model(model: ModelT, size: int) -> bytes:
    """Serialise a model to a flatbuffer. `size` is the approximate size in bytes."""
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


def narrow_kernels(content: bytes) -> bytes:
    """Store every int8 kernel of a flatbuffer whose numbers are whole and at most 7 in int4, two per byte.

    The converter stores whole numbers up to 7 as multiples of 7 / 127; afterwards they have a scale of 1.
    """
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content, 0)
    dense = schema.BuiltinOperator.FULLY_CONNECTED
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            if max(code.builtinCode, code.deprecatedBuiltinCode) == dense:
                kernel = graph.tensors[operator.inputs[1]]
                _narrow(schema, kernel, model.buffers[kernel.buffer])
    return pack_model(model, len(content))


def _narrow(schema, kernel, buffer):
    if kernel.type != schema.TensorType.INT8 or abs(kernel.quantization.scale[0] * LEVELS - LEVELS_OF_4) > 1e-3:
        return
    stored = np.asarray(buffer.data, dtype=np.uint8).view(np.int8)
    buffer.data = pack_nibbles(np.round(stored * kernel.quantization.scale[0]).astype(np.int8))
    kernel.type, kernel.quantization.scale = schema.TensorType.INT4, [1.0]


def pack_nibbles(numbers: np.ndarray) -> np.ndarray:
    """Pack int8 numbers from -8 to 7 as uint8, two per byte, the first of them in the low bits."""
    flat = np.append(numbers.reshape(-1), np.zeros(numbers.size % 2, np.int8)).view(np.uint8) & 15
    return flat[0::2] | flat[1::2] << 4


def unpack_nibbles(stored: np.ndarray, size: int) -> np.ndarray:
    """Invert `pack_nibbles`. Returns an int8 array `(size,)`. `stored` are the packed numbers, uint8."""
    both = np.stack([stored & 15, stored >> 4], axis=1).reshape(-1)[:size].astype(np.int8)
    return np.where(both > LEVELS_OF_4, both - 16, both).astype(np.int8)
