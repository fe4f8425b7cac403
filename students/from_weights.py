"""A student of given weights, such as those of an exported encoder: its sizes are those of the arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ..system.types import Floats, Json
from .ngram import NGramEncoder
from .static import StaticEncoder
from .student import Student

ORDER = re.compile(r"order_(\d+)/projection/kernel")


def from_weights(weights: Mapping[str, Floats], name: str) -> Student:
    """Return the student whose weights are `{path: array}`, of the class and the sizes that these say.

    A projection in them counts as a learned map: the student's space is that of its vectors. Raises `ValueError` for
    arrays that do not fit together, and `KeyError` for one that is missing.
    """
    kind, sizes = (NGramEncoder, _ngram) if "head/first/kernel" in weights else (StaticEncoder, _static)
    if kind is StaticEncoder:
        weights = {**weights, **_evened(weights, "residual"), **_evened(weights, "context")}
    model = kind(**sizes(weights), vocabulary=len(weights["embedding/embeddings"]), name=name)
    model.set_weights([weights[weight.path] for weight in model.weights])
    return model


def _evened(weights, layer):
    """The two products of a layer with a ReLU between, each hidden unit as large before it as behind.

    The same function. An export leaves whole numbers up to 127 before it, and behind it numbers so small that a step of
    an optimiser is many times as large.
    """
    names = [f"{layer}/{name}" for name in ("first/kernel", "first/bias", "second/kernel")]
    if names[0] not in weights:
        return {}
    first, bias, second = (weights[name] for name in names)
    before, behind = np.sqrt(np.square(first).sum(axis=0) + np.square(bias)), np.linalg.norm(second, axis=1)
    scale = np.sqrt(behind / np.where(before > 0, before, 1))
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return dict(zip(names, (first * scale, bias * scale, second / scale[:, None]), strict=True))


def _static(weights: Mapping[str, Floats]) -> dict[str, Json]:
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


def _ngram(weights: Mapping[str, Floats]) -> dict[str, Json]:
    row, factor = weights["embedding/embeddings"].shape[1], weights.get("factor/kernel")
    orders = [int(match[1]) for name in weights if (match := ORDER.fullmatch(name))]
    first, inner = f"order_{orders[0]}", weights["head/third/kernel"].shape[1]
    size, projection = weights["head/fourth/kernel"].shape[1], weights.get("projection/kernel")
    return {
        "width": row if factor is None else factor.shape[1],
        "rank": None if factor is None else row,
        "orders": orders,
        "channels": weights[f"{first}/projection/kernel"].shape[1],
        "convolutions": 1 + (f"{first}/second/dense/kernel" in weights),
        "hidden": weights["head/first/kernel"].shape[1],
        "inner": None if inner == size else inner,
        "dimension": size if projection is None else projection.shape[1],
        "space": None if projection is None else size,
        "foreign": projection is not None,
    }
