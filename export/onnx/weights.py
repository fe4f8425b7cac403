"""Read the weights of a student from its ONNX file, by the names that `students.project` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ExportError
from ...students.families import SETTINGS, settings_as_array
from ...system.types import Floats
from ..families.registry import find_owner
from ..weights.codecs import CODECS, TableEdit, decode_rows
from .nodes import import_onnx, serialize_checked

if TYPE_CHECKING:
    from onnx import ModelProto


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Read the weights of the student in an ONNX file; raise `ExportError` if it is not a student's."""
    model = read_model(content)
    arrays = arrays_of(model)
    try:
        if model.metadata_props:
            arrays[SETTINGS] = settings_as_array({entry.key: json.loads(entry.value) for entry in model.metadata_props})
        weights = find_owner("stored", lambda family: _owns(family, arrays)).weights_of_arrays(arrays)
        return {"embedding/embeddings": table_of(arrays, codec, weights.pop("width").size)[:rows], **weights}
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error


def _owns(family, arrays):
    return hasattr(family, "owns_arrays") and family.owns_arrays(arrays)


def with_table(content: bytes, codec: str, remade: TableEdit) -> bytes:
    """Replace the arrays of the embedding table. Returns the content of the new file."""
    model, helper = read_model(content), import_onnx().numpy_helper
    stored = {array.name: array for array in model.graph.initializer}
    tables = [stored[name] for name in _names(codec)]
    arrays = remade([helper.to_array(table) for table in tables])
    for table, array in zip(tables, arrays, strict=True):
        table.CopyFrom(helper.from_array(array, table.name))
    return serialize_checked(model)


def _names(codec: str, name: str = "table") -> list[str]:
    """Return the names of the arrays that store a table."""
    return [f"{name}/{number}" for number in range(CODECS[codec].arrays)]


def read_model(content: bytes) -> ModelProto:
    from google.protobuf.message import DecodeError

    try:
        return import_onnx().load_model_from_string(content)
    except DecodeError as error:
        raise ExportError("not an ONNX file") from error


def arrays_of(model: ModelProto) -> dict[str, np.ndarray]:
    helper = import_onnx().numpy_helper
    return {stored.name: helper.to_array(stored) for stored in model.graph.initializer}


def table_of(arrays: Mapping[str, np.ndarray], codec: str, width: int, name: str = "table") -> Floats:
    """Decode a table. Returns a float32 array `(n, width)`."""
    return np.ascontiguousarray(decode_rows(codec, [arrays[part] for part in _names(codec, name)], width))


def kernel_of(arrays: Mapping[str, np.ndarray], name: str) -> Floats:
    """Decode a kernel `(in, out)`: float32, float16, or whole numbers with a scale per output channel."""
    scales = arrays.get(f"{name}/scales", np.float32(1))
    return arrays[f"{name}/kernel"].astype(np.float32) * scales
