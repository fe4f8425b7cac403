"""Store kernels of whole numbers up to 7 in 4 bits: half the bytes, which runtimes multiply as fast."""

from __future__ import annotations

import numpy as np

from ..weights.kernels import LEVELS, LEVELS_OF_4
from .packing import pack_model


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
    """Invert `pack_nibbles`.

    Args:
        stored: The packed numbers, uint8.

    Returns:
        int8 array `(size,)`.
    """
    both = np.stack([stored & 15, stored >> 4], axis=1).reshape(-1)[:size].astype(np.int8)
    return np.where(both > LEVELS_OF_4, both - 16, both).astype(np.int8)
