"""Recognise the weights of an n-gram encoder by their names, and read its sizes from them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...system.types import Floats, Json

ORDER = re.compile(r"order_(\d+)/projection/kernel")


def owns(weights: Mapping[str, Floats]) -> bool:
    """Check whether weights `{path: array}` are those of an `NGramEncoder`."""
    return "head/first/kernel" in weights


def trainable_weights(weights: Mapping[str, Floats]) -> Mapping[str, Floats]:
    """Return the weights unchanged, as they can be trained as they are."""
    return weights


def sizes_of(weights: Mapping[str, Floats]) -> dict[str, Json]:
    """Return the arguments of an `NGramEncoder` that has these weights, except for its vocabulary and its name."""
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
