"""Artefacts for the edge: TFLite, the bundle, its parity check and its latency benchmark."""
