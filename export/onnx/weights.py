"""The weights of a student out of its ONNX file, by the names that `students.from_weights` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ExportError
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
    arrays = arrays_of(read_model(content))
    try:
        weights = owner("stored_onnx", lambda family: family.owns(arrays)).weights_of(arrays)
        return {"embedding/embeddings": _table(arrays, codec, weights.pop("width").size)[:rows], **weights}
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


def _names(codec: str) -> list[str]:
    """The names of the arrays that a table in a format is stored in."""
    return [f"table/{number}" for number in range(CODECS[codec].arrays)]


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


def _table(arrays: Mapping[str, np.ndarray], codec: str, width: int) -> Floats:
    return np.ascontiguousarray(decoded(codec, [arrays[name] for name in _names(codec)], width))


def kernel_of(arrays: Mapping[str, np.ndarray], name: str) -> Floats:
    """Return a product's kernel `(in, out)`: float, float16, or whole numbers with a scale an output channel."""
    scales = arrays.get(f"{name}/scales", np.float32(1))
    return arrays[f"{name}/kernel"].astype(np.float32) * scales
