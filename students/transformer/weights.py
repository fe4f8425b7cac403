"""Recognise the weights of a transformer by their names, and read its sizes from them.

Settings that the shapes do not show are stored in `families.SETTINGS` beside them: `heads`, `pooling`, `dense`,
`activation` and `epsilon`; for modern blocks also those of `ATTENTION`, and possibly `positions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...system.types import Floats, Json
from ..families import read_settings
from .pooling import count_poolings

ATTENTION = ("block", "local", "window", "global_theta", "local_theta")
# The default is ModernBERT's; the network reads texts of any length.
POSITIONS = 8192
BLOCK = re.compile(r"block_(\d+)/query/kernel")


def owns(weights: Mapping[str, Floats]) -> bool:
    """Check whether weights `{path: array}` are those of a `TransformerEncoder`."""
    return "block_0/query/kernel" in weights


def trainable_weights(weights: Mapping[str, Floats]) -> Mapping[str, Floats]:
    """Return the weights unchanged, as they can be trained as they are."""
    return weights


def sizes_of(weights: Mapping[str, Floats]) -> dict[str, Json]:
    """Return the arguments of a `TransformerEncoder` that has these weights, except for its vocabulary and its name."""
    said, row = read_settings(weights), weights["embedding/embeddings"].shape[1]
    table, width = weights.get("positions/embeddings"), len(weights["positions/norm/gamma"])
    shared, heads = weights["block_0/query/kernel"].shape[1], said["heads"]
    if shared % heads:
        raise ValueError(f"{heads} heads do not share {shared} numbers evenly")
    behind, projection = weights.get("dense/kernel"), weights.get("projection/kernel")
    size = width * count_poolings(said["pooling"]) if behind is None else behind.shape[1]
    return {
        "width": width,
        "depth": sum(bool(BLOCK.fullmatch(name)) for name in weights),
        "heads": heads,
        "head_size": shared // heads,
        "inner": weights["block_0/first/kernel"].shape[1],
        "positions": said.get("positions", POSITIONS) if table is None else len(table),
        "pooling": said["pooling"],
        "dense": said["dense"],
        "dimension": size if projection is None else projection.shape[1],
        "rank": row if "factor/kernel" in weights else None,
        "space": None if projection is None else size,
        "foreign": projection is not None,
        "epsilon": said["epsilon"],
        "activation": said["activation"],
        **{name: said[name] for name in ATTENTION if name in said},
    }
