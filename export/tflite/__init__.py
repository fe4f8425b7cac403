"""Students as TFLite flatbuffers."""
