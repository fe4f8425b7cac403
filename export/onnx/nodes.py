"""Write an ONNX graph node by node: name the values, hold the constants, and serialise the checked model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ExportError, first_line
from ...system.extras import install_command
from ...system.types import Json

if TYPE_CHECKING:
    from onnx import ModelProto

# The lowest operator set with LayerNormalization, and the file format of the same time.
OPSET, IR_VERSION = 17, 8
# A serialised protobuf cannot be larger.
LARGEST = 2**31 - 1
# An input or an output: its name, its NumPy type and its shape, where a string stands for any size.
Value: TypeAlias = tuple[str, str, tuple[int | str, ...]]
Attribute: TypeAlias = int | float | str | list[int]


def import_onnx() -> ModuleType:
    """Import the package `onnx`. Raises `ExportError` if it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise ExportError(f"ONNX export needs the package onnx; run: {install_command('onnx')}") from error
    return onnx


class Graph:
    """The nodes of a graph, in the order of computation; `settings` are stored of its student beside the arrays.

    A value is represented by its name, which every method that adds one returns.
    """

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes, self.constants = [], {}
        self.settings: dict[str, Json] = {}

    def constant(self, name: str, array: ArrayLike) -> str:
        """Store an array; the same name again must mean the same array."""
        if name not in self.constants:
            self.constants[name] = self.onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def number(self, value: float, dtype: str = "float32") -> str:
        """Store a scalar."""
        return self.constant(f"{dtype}/{value}", np.array(value, dtype=dtype).reshape(()))

    def numbers(self, *values: int) -> str:
        """Store an int64 list, such as axes, shapes, bounds or sizes, and return its name."""
        return self.constant(f"int64s/{','.join(map(str, values))}", np.array(values, dtype=np.int64))

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Attribute) -> str:
        """Add a node with one output. `name` is the name of the output; None to number it."""
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def split(self, x: str, sizes: Sequence[int]) -> list[str]:
        """Split the last axis into parts."""
        lengths, name = self.numbers(*sizes), f"Split_{len(self.nodes)}"
        names = [f"{name}_{number}" for number in range(len(sizes))]
        self.nodes.append(self.onnx.helper.make_node("Split", [x, lengths], names, name, axis=-1))
        return names

    def cast(self, x: str, dtype: str) -> str:
        """Convert a value to another type."""
        return self.add("Cast", x, to=self.kind(dtype))

    def kind(self, dtype: str) -> int:
        """Return ONNX's number for a NumPy type."""
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def model(self, name: str, inputs: Sequence[Value], outputs: Sequence[Value], description: str) -> ModelProto:
        """Return the `ModelProto` of the graph; a string in the shape of an input stands for any size."""
        helper = self.onnx.helper
        values = [
            [helper.make_tensor_value_info(value, self.kind(dtype), shape) for value, dtype, shape in side]
            for side in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, name, *values, list(self.constants.values()))
        model = helper.make_model(
            graph,
            producer_name="distill",
            doc_string=description,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        helper.set_model_props(model, {name: json.dumps(value) for name, value in self.settings.items()})
        return model


def serialize_checked(model: ModelProto, largest: int = LARGEST) -> bytes:
    """Check a model and serialise it. Raises `ExportError` if it is not valid or has more than `largest` bytes."""
    onnx = import_onnx()
    if model.ByteSize() > largest:
        raise ExportError(
            f"the ONNX file would have {model.ByteSize()} bytes, {largest} at most; choose a smaller table"
        )
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"the ONNX graph is not valid: {first_line(error)}") from error
    return model.SerializeToString(deterministic=True)
