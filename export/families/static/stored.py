"""Find the parts of a static student in its flatbuffer, and its weights in these or in constants of an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....system.types import Floats
from ...onnx.model import kernel_of
from ...tflite.graph import Graph
from ...tflite.weights import Parts

# The dense layers; the first two are there only if the rows have a window of tokens.
LAYERS = ("context.first", "context.second", "first", "second", "lift")


def owns(graph: Graph) -> bool:
    """Return True for the graph of a static student, which is recognised by the number of its products."""
    return len(graph.products) in (3, len(LAYERS)) and not graph.has("SOFTMAX")


def parts_of(graph: Graph) -> Parts:
    """Find the parts of a student: the products of `LAYERS`, without the first two if its rows have no context."""
    names = LAYERS[len(LAYERS) - len(graph.products) :]
    products = dict(zip(names, graph.products, strict=True))
    width = products["first"].inputs
    orders = (products["context.first"].inputs // width,) if "context.first" in products else ()
    return Parts("static", products, {}, width, orders, "lift")


def weights_of(parts: Parts) -> dict[str, Floats]:
    """Return the weights of the student by path, without its table."""
    first, second, lift = (parts.products[name] for name in LAYERS[-3:])
    weights = {
        "residual/first/kernel": first.kernel,
        "residual/first/bias": first.bias,
        "residual/second/kernel": second.kernel,
        "residual/lift/kernel": lift.kernel,
    }
    if parts.orders:
        before, after = (parts.products[name] for name in LAYERS[:2])
        weights |= {"context/first/kernel": before.kernel, "context/first/bias": before.bias}
        weights |= {"context/second/kernel": after.kernel}
    return weights


def owns_arrays(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True for the constants of a static student, which are given by name."""
    return "lift/kernel" in arrays


def weights_of_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Floats]:
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


def rotate_readers(weights: Mapping[str, Floats], basis: Floats) -> dict[str, NDArray[np.floating]]:
    """Return the weights that change if the embedding table is multiplied by an orthogonal matrix."""
    writers = [name for name in ("residual/second/kernel", "context/second/kernel") if name in weights]
    changed: dict[str, NDArray[np.floating]] = {
        name: basis.T @ weights[name] for name in ("residual/first/kernel", "residual/lift/kernel")
    }
    changed |= {name: weights[name] @ basis for name in writers}
    if "context/first/kernel" in weights:
        first = weights["context/first/kernel"]
        # The rows of the kernel are those of the window's tokens, one token after another.
        changed["context/first/kernel"] = (basis.T @ first.reshape(-1, len(basis), first.shape[1])).reshape(first.shape)
    return changed
