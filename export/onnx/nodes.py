"""An ONNX graph written node by node: names the values, holds the constants, and serialises the checked whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ExportError, first_line
from ...system.types import Json

if TYPE_CHECKING:
    from onnx import ModelProto

# The lowest operator set with LayerNormalization, and the file format of its time.
OPSET, IR_VERSION = 17, 8
# A serialised protobuf cannot be larger.
LARGEST = 2**31 - 1
# An input or an output: its name, its type in NumPy, its shape with a name for any size.
Value: TypeAlias = tuple[str, str, tuple[int | str, ...]]
Attribute: TypeAlias = int | float | str | list[int]


def onnx_package() -> ModuleType:
    """The package `onnx`; `ExportError` where it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise ExportError("ONNX export needs the package onnx; run: pip install 'distill[onnx]'") from error
    return onnx


class Graph:
    """Nodes in the order of computation. A value is its name, a string; every method that adds one returns it.

    `settings` are what the file says of its student beside the arrays.
    """

    def __init__(self) -> None:
        self.onnx = onnx_package()
        self.nodes, self.constants = [], {}
        self.settings: dict[str, Json] = {}

    def constant(self, name: str, array: ArrayLike) -> str:
        """A stored array under its `name`; the same name again must mean the same array."""
        if name not in self.constants:
            self.constants[name] = self.onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def number(self, value: float, dtype: str = "float32") -> str:
        """A stored scalar."""
        return self.constant(f"{dtype}/{value}", np.array(value, dtype=dtype).reshape(()))

    def numbers(self, *values: int) -> str:
        """A stored int64 list: axes, shapes, bounds, sizes."""
        return self.constant(f"int64s/{','.join(map(str, values))}", np.array(values, dtype=np.int64))

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Attribute) -> str:
        """Add a node of one output, which has its name."""
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def split(self, x: str, sizes: Sequence[int]) -> list[str]:
        """Cut the last axis into parts of these sizes, with one output each."""
        lengths, name = self.numbers(*sizes), f"Split_{len(self.nodes)}"
        names = [f"{name}_{number}" for number in range(len(sizes))]
        self.nodes.append(self.onnx.helper.make_node("Split", [x, lengths], names, name, axis=-1))
        return names

    def cast(self, x: str, dtype: str) -> str:
        """Numbers as those of a NumPy type."""
        return self.add("Cast", x, to=self.kind(dtype))

    def kind(self, dtype: str) -> int:
        """ONNX's number of a NumPy type."""
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def model(self, name: str, inputs: Sequence[Value], outputs: Sequence[Value], description: str) -> ModelProto:
        """The `ModelProto`; `inputs` and `outputs` are `(name, dtype, shape)`, a string in a shape any size."""
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


def checked(model: ModelProto, largest: int = LARGEST) -> bytes:
    """The serialised `ModelProto`, if it is valid, of consistent shapes and within the size; else `ExportError`."""
    onnx = onnx_package()
    if model.ByteSize() > largest:
        raise ExportError(
            f"the ONNX file would have {model.ByteSize()} bytes, {largest} at most; choose a smaller table"
        )
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"the ONNX graph is not valid: {first_line(error)}") from error
    return model.SerializeToString(deterministic=True)
