"""A reader's network as a flatbuffer: one window of a passage at a time, weights in float16."""

from __future__ import annotations

from collections.abc import Mapping

import keras

from ...system.types import Model
from .convert import converted_half, require_tensorflow


def reader_flatbuffer(network: Model, lengths: Mapping[str, int | None]) -> bytes:
    """Return the flatbuffer, bytes, of a network whose inputs have names, at fixed `lengths` of their second axis.

    An input `(b, d)` has none, None. One signature takes float32 `(1, length, d)` by name. Raises `ExportError` when
    Keras does not run on TensorFlow, or the conversion fails.
    """
    require_tensorflow()
    inputs = {name: _fixed(name, network.input[name].shape, length) for name, length in lengths.items()}
    return converted_half(keras.Model(list(inputs.values()), network(inputs), name="reader"))


def _fixed(name, shape, length):
    sizes = (1, shape[-1]) if length is None else (1, length, shape[-1])
    return keras.Input(batch_shape=sizes, name=name)
