"""Read the weights of an n-gram student from the constants of its ONNX file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....system.types import Floats
from ...onnx.weights import kernel_of


def owns(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants of an n-gram student, which are given by name."""
    return "projections/kernel" in arrays


def weights_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
    """Return the weights of the student by path, and as `width` an array with one number per column of the table."""
    names = [name.split("/")[0] for name in arrays if name.startswith("order_") and name.endswith("/norm/gamma")]
    projections, biases = kernel_of(arrays, "projections"), np.split(arrays["projections/bias"], len(names))
    weights = {f"head/{part}/kernel": kernel_of(arrays, f"head/{part}") for part in ("second", "fourth")}
    inner = len(weights["head/fourth/kernel"])
    pairs = {"hidden": ("first", "second_skip"), "output": ("third", "fourth_skip")}
    for name, parts in pairs.items():
        both = kernel_of(arrays, f"head/{name}")
        place = inner if name == "output" else both.shape[1] // 2
        weights |= zip((f"head/{part}/kernel" for part in parts), np.split(both, [place], axis=1), strict=True)
    for name, kernel, bias in zip(names, np.split(projections, len(names), axis=1), biases, strict=True):
        weights |= {f"{name}/projection/kernel": kernel, f"{name}/projection/bias": bias}
        for part in ("first", "second"):
            if f"{name}/{part}/bias" in arrays:
                weights[f"{name}/{part}/dense/kernel"] = kernel_of(arrays, f"{name}/{part}")
                weights[f"{name}/{part}/dense/bias"] = arrays[f"{name}/{part}/bias"]
    weights |= {name: array for name, array in arrays.items() if name.endswith(("norm/gamma", "norm/beta"))}
    weights |= {"pooling/dense/kernel": kernel_of(arrays, "pooling"), "pooling/bias": arrays["pooling/bias"]}
    for name in ("factor", "projection"):
        if f"{name}/kernel" in arrays:
            weights[f"{name}/kernel"] = kernel_of(arrays, name)
    return weights | {"width": weights.get("factor/kernel", projections)[:, 0]}
