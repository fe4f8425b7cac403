"""Data parallelism with `keras.distribution`: devices share the texts of a step, and each holds all weights."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import keras

from ..errors import ConfigError
from ..settings.sections import TrainingSettings

# Keras 3 has it on JAX alone: its module for TensorFlow is a prototype, and PyTorch has none.
BACKENDS = ("jax",)


class PackedParallel(keras.distribution.DataParallel):
    """Splits arrays along the first axis if the devices divide it, and copies the others to every device.

    Packed ids, which cost most, are split. Programs compute the same whichever arrays are split (GSPMD, Xu et al.,
    2021), so this decides the speed of a step and not its result.
    """

    def get_data_layout(self, data_shape: tuple[int, ...]) -> keras.distribution.TensorLayout:
        """Return Keras's layout if the devices divide the first axis, or else one that copies the array."""
        if data_shape and data_shape[0] % self.device_mesh.devices.size == 0:
            return super().get_data_layout(data_shape)
        return keras.distribution.TensorLayout([None] * len(data_shape), self.device_mesh)


def share_devices(settings: TrainingSettings | None) -> AbstractContextManager[None]:
    """Return a context in which models are made, trained and called on the devices of the settings.

    Raises `ConfigError` as `require_devices` does.
    """
    count = require_devices(settings)
    return PackedParallel(devices=keras.distribution.list_devices()[:count]).scope() if count > 1 else nullcontext()


def require_devices(settings: TrainingSettings | None) -> int:
    """Return the number of devices that the settings ask for; 0 means all, and None the default.

    Raises `ConfigError` if there are fewer, or if Keras cannot share a step.
    """
    if settings is None or settings.devices == 1:
        return 1
    backend = keras.backend.backend()
    if backend not in BACKENDS:
        raise ConfigError(
            f"training.devices: Keras on {backend} trains on one device; set KERAS_BACKEND=jax, or training.devices=1"
        )
    there = len(keras.distribution.list_devices())
    if settings.devices > there:
        raise ConfigError(f"training.devices: {settings.devices} were asked for and JAX sees {there}; give 0 for all")
    return settings.devices or there
