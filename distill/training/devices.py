"""Data parallelism with `keras.distribution`: devices share the texts of a step, and each holds all weights.

They may be those of several processes (`system.backend.join_processes`), each of which packs the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import keras

from ..errors import ConfigError
from ..settings.sections import TrainingSettings
from ..system.types import Tensor

# Keras 3 has it on JAX alone: its module for TensorFlow is a prototype, and PyTorch has none.
BACKENDS = ("jax",)


class PackedParallel(keras.distribution.DataParallel):
    """Copies the arrays of a step to every device; `share` splits those that cost most within it.

    Programs compute the same whichever arrays are split (GSPMD, Xu et al., 2021), so this decides the speed of a step
    and not its result.
    """

    def get_data_layout(self, data_shape: tuple[int, ...]) -> keras.distribution.TensorLayout:
        """Return a layout that copies the array."""
        return keras.distribution.TensorLayout([None] * len(data_shape), self.device_mesh)

    def share(self, array: Tensor) -> Tensor:
        """Split an array along its first axis if the devices divide it."""
        if array.shape[0] % self.device_mesh.devices.size:
            return array
        return keras.distribution.distribute_tensor(array, super().get_data_layout(array.shape))


def share_packed(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Split packed texts among the devices that share a step, if there are several."""
    parallel = keras.distribution.distribution()
    if not isinstance(parallel, PackedParallel):
        return dict(packed)
    return {name: parallel.share(array) for name, array in packed.items()}


def share_devices(settings: TrainingSettings | None) -> AbstractContextManager[None]:
    """Return a context in which models are made, trained and called on the devices of the settings.

    Raises `ConfigError` as `require_devices` does.
    """
    if require_devices(settings) == 1 or settings is None:
        return nullcontext()
    import jax

    if jax.process_count() > 1:
        # JAX compares what each process makes, also first weights that others soon replace.
        keras.utils.set_random_seed(0)
    of_process: dict[int, list[str]] = {}
    for device in jax.devices():
        of_process.setdefault(device.process_index, []).append(f"{device.platform}:{device.id}")
    return PackedParallel(
        devices=[name for names in of_process.values() for name in names[: settings.devices or None]]
    ).scope()


def require_devices(settings: TrainingSettings | None) -> int:
    """Return the number of devices that the settings ask for, in all processes; 0 means all, and None the default.

    Raises `ConfigError` if there are fewer, or if Keras cannot share a step.
    """
    if settings is None or settings.devices == settings.processes == 1:
        return 1
    backend = keras.backend.backend()
    if backend not in BACKENDS:
        raise ConfigError(
            f"training.devices: Keras on {backend} trains on one device; set KERAS_BACKEND=jax, or training.devices=1"
        )
    import jax

    there, processes = jax.local_device_count(), jax.process_count()
    if settings.devices > there:
        raise ConfigError(f"training.devices: {settings.devices} were asked for and JAX sees {there}; give 0 for all")
    if settings.processes not in (0, processes):
        raise ConfigError(
            f"training.processes: {settings.processes} were asked for and JAX has {processes}; call "
            "jax.distributed.initialize first"
        )
    return (settings.devices or there) * processes
