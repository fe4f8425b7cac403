"""Recognise the weights of a static student by their names, and read its sizes from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...system.types import Floats, Json


def owns(weights: Mapping[str, Floats]) -> bool:
    """Check whether weights `{path: array}` are those of a `StaticEncoder`."""
    return "residual/lift/kernel" in weights


def trainable_weights(weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return weights of the same function that are better to train: both products of a layer have equal size."""
    return {**weights, **_even(weights, "residual"), **_even(weights, "context")}


def _even(weights, layer):
    """Return the two products of a layer with a ReLU between, with each hidden unit as large before it as behind it.

    An export leaves whole numbers up to 127 before it, and behind it numbers so small that a step of an optimiser is
    many times as large.
    """
    names = [f"{layer}/{name}" for name in ("first/kernel", "first/bias", "second/kernel")]
    if names[0] not in weights:
        return {}
    first, bias, second = (weights[name] for name in names)
    before, behind = np.sqrt(np.square(first).sum(axis=0) + np.square(bias)), np.linalg.norm(second, axis=1)
    scale = np.sqrt(behind / np.where(before > 0, before, 1))
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return dict(zip(names, (first * scale, bias * scale, second / scale[:, None]), strict=True))


def sizes_of(weights: Mapping[str, Floats]) -> dict[str, Json]:
    """Return the arguments of a `StaticEncoder` that has these weights, except for its vocabulary and its name."""
    width = weights["embedding/embeddings"].shape[1]
    sizes = {
        "width": width,
        "hidden": weights["residual/first/kernel"].shape[1],
        "dimension": weights["residual/lift/kernel"].shape[1],
    }
    if "context/first/kernel" in weights:
        inputs, channels = weights["context/first/kernel"].shape
        sizes |= {"channels": channels, "order": inputs // width}
    return sizes
