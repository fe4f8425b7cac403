"""Write a flatbuffer from the schema's objects, with a signature, and with kernels of 4 bits where they fit.

The operators that a flatbuffer needs are read, and renamed, by the schema too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import flatbuffers
import numpy as np

from ...errors import ExportError
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


# Operators and versions that were run under tflite-runtime 2.14, the oldest runtime that has to load an artefact.
NEWEST = {
    **dict.fromkeys(("ADD", "BITCAST", "CONCATENATION", "EXPAND_DIMS", "FLOOR", "GREATER_EQUAL", "MAXIMUM"), 1),
    **dict.fromkeys(("LESS", "MEAN", "MUL", "PAD", "RELU", "RESHAPE", "RSQRT", "SELECT_V2", "SHAPE"), 1),
    **dict.fromkeys(("SQUARED_DIFFERENCE", "STRIDED_SLICE", "SUB", "SUM", "TANH", "TILE"), 1),
    # These are for transformers.
    **dict.fromkeys(("BATCH_MATMUL", "CUMSUM", "DIV", "GELU", "MINIMUM", "REDUCE_MAX", "SOFTMAX", "TRANSPOSE"), 1),
    **dict.fromkeys(("COS", "SIN"), 1),
    # These are for spellings, and were run in MediaPipe and in newer runtimes only.
    **dict.fromkeys(("LESS_EQUAL", "RANGE"), 1),
    **{"CAST": 3, "FULLY_CONNECTED": 9, "GATHER": 2},
}


def require_operators(content: bytes, custom: Sequence[str] = ()) -> None:
    for name, version, is_custom in list_operators(content):
        if is_custom and name not in custom:
            raise ExportError(f"the converted file needs the operator {name}, which is not builtin")
        if not is_custom and version > NEWEST.get(name, 0):
            tried = f"version {NEWEST[name]} is the newest" if name in NEWEST else "none was"
            raise ExportError(
                f"the converted file needs the operator {name}, version {version}; with the oldest supported "
                f"runtime, tflite-runtime 2.14, {tried} tried"
            )


def list_operators(content: bytes) -> list[tuple[str, int, bool]]:
    """List the operators of a flatbuffer as `(name, version, is_custom)`."""
    model = _model(content)
    codes = [model.OperatorCodes(number) for number in range(model.OperatorCodesLength())]
    return [_operator(code) for code in codes]


def _operator(code):
    from ai_edge_litert import schema_py_generated as schema

    if code.CustomCode():
        return code.CustomCode().decode(), code.Version(), True
    names = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    return names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())], code.Version(), False


def rename_operator(content: bytes, old: str, new: str) -> bytes:
    """Rename a custom operator in place, without moving anything else; a longer name that was there counts as room."""
    model, changed = _model(content), bytearray(content)
    for number in range(model.OperatorCodesLength()):
        code = model.OperatorCodes(number)
        if code.CustomCode() == old.encode():
            _write_string(changed, _place_of_name(code), new.encode())
    return bytes(changed)


def _place_of_name(code):
    """Return the start of an operator's custom name: a uint32 length and that many bytes, NUL-terminated."""
    from flatbuffers.number_types import UOffsetTFlags

    table = code._tab
    field = table.Pos + table.Offset(6)  # custom_code, field 1 of the schema's OperatorCode
    return field + table.Get(UOffsetTFlags, field)


def _write_string(content, start, text):
    size, first = int.from_bytes(content[start : start + 4], "little"), start + 4
    end = first + size
    while end < first + len(text) and content[end + 1 : end + 2] == b"\0":
        end += 1
    if len(text) > end - first:
        raise ExportError(f"the operator's name has room for {end - first} bytes, {text.decode()} needs {len(text)}")
    content[start:first] = len(text).to_bytes(4, "little")
    content[first:end] = text.ljust(end - first, b"\0")


def _model(content):
    from ai_edge_litert import schema_py_generated as schema

    return schema.Model.GetRootAsModel(content, 0)
