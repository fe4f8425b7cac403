"""Convert a reader's network to a flatbuffer that reads one window of a passage at a time, with weights in float16."""

from __future__ import annotations

from collections.abc import Mapping

import keras

from ...system.types import Model
from .convert import convert_to_float16, require_tensorflow


def convert_reader(network: Model, lengths: Mapping[str, int | None]) -> bytes:
    """Convert a network with named inputs to a flatbuffer with one signature.

    Args:
        network: The network.
        lengths: The fixed length of the second axis of each input, by name; None for an input `(b, d)`. An input is
            then float32 `(1, length, d)`, or `(1, d)`.

    Returns:
        The flatbuffer.

    Raises:
        ExportError: If Keras does not run on TensorFlow, or the conversion fails.
    """
    require_tensorflow()
    inputs = {name: _fix_length(name, network.input[name].shape, length) for name, length in lengths.items()}
    return convert_to_float16(keras.Model(list(inputs.values()), network(inputs), name="reader"))


def _fix_length(name, shape, length):
    sizes = (1, shape[-1]) if length is None else (1, length, shape[-1])
    return keras.Input(batch_shape=sizes, name=name)
