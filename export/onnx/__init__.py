"""Students as ONNX files."""
