"""The weights of a transformer out of the constants of its ONNX file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ....students.told import SETTINGS
from ....system.types import Floats
from ...onnx.weights import kernel_of, table_of

LOOKED = ("query", "key", "value")


def owns(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants `{name: array}` of a transformer."""
    return "block_0/looked/kernel" in arrays


def weights_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
    """Return `{path: array}` of its encoder and its settings, and under `width` one number for each of the table."""
    width = arrays["positions/norm/gamma"]
    weights = {name: array for name, array in arrays.items() if name.endswith(("norm/gamma", "norm/beta"))}
    for name in (name.removesuffix("/kernel") for name in arrays if name.endswith("/kernel")):
        kernel, bias = kernel_of(arrays, name), arrays.get(f"{name}/bias")
        weights |= dict(_looked(name, kernel, bias) if name.endswith("/looked") else _layer(name, kernel, bias))
    codec = "uint8" if "positions/1" in arrays else "float32"
    weights["positions/embeddings"] = table_of(arrays, codec, width.size, "positions")
    return {**weights, SETTINGS: arrays[SETTINGS], "width": weights.get("factor/kernel", width[:, None])[:, 0]}


def _layer(name, kernel, bias) -> Iterator[tuple[str, Floats]]:
    yield f"{name}/kernel", kernel
    if bias is not None:
        yield f"{name}/bias", bias


def _looked(name, kernel, bias) -> Iterator[tuple[str, Floats]]:
    """Query, key and value, whose kernels and biases stand side by side."""
    kernels, biases = np.split(kernel, 3, axis=1), np.split(bias, 3)
    for part, one, other in zip(LOOKED, kernels, biases, strict=True):
        yield from _layer(f"{name.removesuffix('looked')}{part}", one, other)
