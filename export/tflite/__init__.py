"""A student as a TFLite flatbuffer."""
