"""The weights of a student out of its ONNX file, by the names that `students.from_weights` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ExportError
from ...students.told import SETTINGS, as_array
from ...system.types import Floats
from ..families.registry import owner
from ..weights.codecs import CODECS, Remade, decoded
from .nodes import checked, onnx_package

if TYPE_CHECKING:
    from onnx import ModelProto


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Return `{name: array}` of the student in an ONNX file, its table of so many `rows` in the format `codec`.

    Raises `ExportError` for a file that is none of ours, or without the package onnx.
    """
    model = read_model(content)
    arrays = arrays_of(model)
    try:
        if model.metadata_props:
            arrays[SETTINGS] = as_array({entry.key: json.loads(entry.value) for entry in model.metadata_props})
        weights = owner("stored_onnx", lambda family: family.owns(arrays)).weights_of(arrays)
        return {"embedding/embeddings": table_of(arrays, codec, weights.pop("width").size)[:rows], **weights}
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error


def with_table(content: bytes, codec: str, remade: Remade) -> bytes:
    """Return the file with what is `remade` of the arrays of its table in the format `codec`."""
    model, helper = read_model(content), onnx_package().numpy_helper
    stored = {array.name: array for array in model.graph.initializer}
    tables = [stored[name] for name in _names(codec)]
    arrays = remade([helper.to_array(table) for table in tables])
    for table, array in zip(tables, arrays, strict=True):
        table.CopyFrom(helper.from_array(array, table.name))
    return checked(model)


def _names(codec: str, name: str = "table") -> list[str]:
    """The names of the arrays that a table of a name is stored in, in a format."""
    return [f"{name}/{number}" for number in range(CODECS[codec].arrays)]


def read_model(content: bytes) -> ModelProto:
    """Return the `ModelProto` of a file. Raises `ExportError` for another."""
    from google.protobuf.message import DecodeError

    try:
        return onnx_package().load_model_from_string(content)
    except DecodeError as error:
        raise ExportError("not an ONNX file") from error


def arrays_of(model: ModelProto) -> dict[str, np.ndarray]:
    """Return `{name: array}` of a graph's constants."""
    helper = onnx_package().numpy_helper
    return {stored.name: helper.to_array(stored) for stored in model.graph.initializer}


def table_of(arrays: Mapping[str, np.ndarray], codec: str, width: int, name: str = "table") -> Floats:
    """Return the rows `(n, width)` of the table of a name, which is stored in the format `codec`."""
    return np.ascontiguousarray(decoded(codec, [arrays[part] for part in _names(codec, name)], width))


def kernel_of(arrays: Mapping[str, np.ndarray], name: str) -> Floats:
    """Return a product's kernel `(in, out)`: float, float16, or whole numbers with a scale an output channel."""
    scales = arrays.get(f"{name}/scales", np.float32(1))
    return arrays[f"{name}/kernel"].astype(np.float32) * scales
