"""Read the weights of a static student from the constants of its ONNX file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....system.types import Floats
from ...onnx.weights import kernel_of


def owns(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants of a static student, which are given by name."""
    return "lift/kernel" in arrays


def weights_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
    """Return the weights of the student by path, and as `width` an array with one number per column of the table."""
    weights = {
        "residual/first/kernel": kernel_of(arrays, "residual/first"),
        "residual/first/bias": arrays["residual/bias"],
        "residual/second/kernel": kernel_of(arrays, "residual/second"),
        "residual/lift/kernel": kernel_of(arrays, "lift"),
    }
    if "context/bias" in arrays:
        weights |= {f"context/{part}/kernel": kernel_of(arrays, f"context/{part}") for part in ("first", "second")}
        weights["context/first/bias"] = arrays["context/bias"]
    return weights | {"width": weights["residual/first/kernel"][:, 0]}
