"""Read the weights of a transformer from the constants of its ONNX file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....students.families import SETTINGS, read_settings
from ....system.types import Floats
from ...onnx.weights import kernel_of, table_of
from .stored import SHARED, split_shared


def owns(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants of a transformer, which are given by name."""
    return "block_0/looked/kernel" in arrays


def weights_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
    """Return the weights of the student by path, its settings, and as `width` one number per column of the table."""
    width = arrays["positions/norm/gamma"]
    weights = {name: array for name, array in arrays.items() if name.endswith(("norm/gamma", "norm/beta"))}
    modern = read_settings(arrays).get("block") == "modern"
    for name in (name.removesuffix("/kernel") for name in arrays if name.endswith("/kernel")):
        layers = SHARED.get(name.rpartition("/")[2], ()) if modern or name.endswith("/looked") else ()
        weights |= split_shared(name, layers, kernel_of(arrays, name), arrays.get(f"{name}/bias"))
    if "positions/0" in arrays:
        codec = "uint8" if "positions/1" in arrays else "float32"
        weights["positions/embeddings"] = table_of(arrays, codec, width.size, "positions")
    return {**weights, SETTINGS: arrays[SETTINGS], "width": weights.get("factor/kernel", width[:, None])[:, 0]}
