"""Data parallelism: devices share the texts of a step, each with all weights. `keras.distribution`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import keras

from ..errors import ConfigError
from ..settings.sections import TrainingSettings

# Keras 3 has it on JAX alone: its module for TensorFlow is a prototype, and PyTorch has none.
BACKENDS = ("jax",)


class PackedParallel(keras.distribution.DataParallel):
    """Splits what a step takes along the first axis, where the devices divide it, and gives all of them the rest.

    That is the packed ids, which cost; of indices and labels each device may well have all. Programs are the same
    whichever arrays are split (GSPMD: Xu et al., 2021), so this decides how fast a step is, not what it computes.
    """

    def get_data_layout(self, data_shape: tuple[int, ...]) -> keras.distribution.TensorLayout:
        """Keras's own where the devices divide the first axis; else all of the array for each of them."""
        if data_shape and data_shape[0] % self.device_mesh.devices.size == 0:
            return super().get_data_layout(data_shape)
        return keras.distribution.TensorLayout([None] * len(data_shape), self.device_mesh)


def shared_by(settings: TrainingSettings | None) -> AbstractContextManager[None]:
    """A context in which models are made, trained and asked on the devices of a `TrainingSettings`, by default one.

    Raises `ConfigError` as `require_devices`.
    """
    many = require_devices(settings)
    return PackedParallel(devices=keras.distribution.list_devices()[:many]).scope() if many > 1 else nullcontext()


def require_devices(settings: TrainingSettings | None) -> int:
    """The number of devices that `settings`, or None for the default, ask for, all of them being counted for 0.

    Raises `ConfigError` where there are fewer, or Keras cannot share a step.
    """
    if settings is None or settings.devices == 1:
        return 1
    backend = keras.backend.backend()
    if backend not in BACKENDS:
        raise ConfigError(
            f"training.devices: Keras on {backend} trains on one device; set KERAS_BACKEND=jax, or give --devices 1"
        )
    there = len(keras.distribution.list_devices())
    if settings.devices > there:
        raise ConfigError(f"training.devices: {settings.devices} were asked for and JAX sees {there}; give 0 for all")
    return settings.devices or there
