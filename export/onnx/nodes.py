"""An ONNX graph written node by node: names the values, holds the constants, and serialises the checked whole."""

import numpy as np

from ...errors import ExportError, first_line

# The lowest operator set with LayerNormalization, and the file format of its time.
OPSET, IR_VERSION = 17, 8
# A serialised protobuf cannot be larger.
LARGEST = 2**31 - 1


def onnx_package():
    """The package `onnx`; `ExportError` where it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise ExportError("ONNX export needs the package onnx; run: pip install 'distill[onnx]'") from error
    return onnx


class Graph:
    """Nodes in the order of computation. A value is its name, a string; every method that adds one returns it."""

    def __init__(self):
        self.onnx = onnx_package()
        self.nodes, self.constants = [], {}

    def constant(self, name, array):
        """A stored array under its `name`; the same name again must mean the same array."""
        if name not in self.constants:
            self.constants[name] = self.onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def number(self, value, dtype="float32"):
        """A stored scalar."""
        return self.constant(f"{dtype}/{value}", np.array(value, dtype=dtype).reshape(()))

    def numbers(self, *values):
        """A stored int64 list: axes, shapes, bounds, sizes."""
        return self.constant(f"int64s/{','.join(map(str, values))}", np.array(values, dtype=np.int64))

    def add(self, operator, *inputs, outputs=1, name=None, **attributes):
        """A node; its output, or the list of its outputs where there are several."""
        name = name or f"{operator}_{len(self.nodes)}"
        names = [name] if outputs == 1 else [f"{name}_{number}" for number in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, names, name, **attributes))
        return name if outputs == 1 else names

    def cast(self, x, dtype):
        return self.add("Cast", x, to=self.kind(dtype))

    def kind(self, dtype):
        """ONNX's number of a NumPy type."""
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def model(self, name, inputs, outputs, description):
        """The `ModelProto`; `inputs` and `outputs` are `(name, dtype, shape)`, a string in a shape any size."""
        helper = self.onnx.helper
        values = [
            [helper.make_tensor_value_info(value, self.kind(dtype), shape) for value, dtype, shape in side]
            for side in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, name, *values, list(self.constants.values()))
        return helper.make_model(
            graph,
            producer_name="distill",
            doc_string=description,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )


def checked(model, largest=LARGEST):
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
