"""A student as an ONNX file."""
