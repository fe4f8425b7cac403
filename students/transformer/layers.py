"""Make the layers of a `TransformerEncoder` behind the table, given its sizes: its arguments by name."""

from __future__ import annotations

from collections.abc import Mapping

import keras

from ...system.types import Json
from .block import Block, Positions
from .modern import ModernBlock, Rows, make_norm

BLOCKS = ("bert", "modern")
# The sizes of every block, in the order of `Block`'s arguments.
SIZES = ("heads", "head_size", "inner", "epsilon", "activation")


def make_rows(sizes: Mapping[str, Json]) -> Positions | Rows:
    """Make the layer between the table and the first block, `positions`."""
    if sizes["block"] == "modern":
        return Rows(sizes["epsilon"], name="positions")
    return Positions(sizes["positions"], sizes["epsilon"], name="positions")


def make_blocks(sizes: Mapping[str, Json]) -> list[Block]:
    """Make the blocks, the first one first. Raises `ValueError` if `block` is none of `BLOCKS`."""
    if sizes["block"] not in BLOCKS:
        raise ValueError(f"block: expected one of {', '.join(BLOCKS)}, got {sizes['block']!r}")
    same = [sizes[name] for name in SIZES]
    if sizes["block"] == "bert":
        return [Block(*same, name=f"block_{place}") for place in range(sizes["depth"])]
    return [ModernBlock(*same, **_attention(sizes, place), name=f"block_{place}") for place in range(sizes["depth"])]


def make_final_norm(sizes: Mapping[str, Json]) -> keras.layers.LayerNormalization | None:
    """Make the normalisation behind the last block; None for blocks that normalise their sums."""
    return make_norm(sizes["epsilon"], "final_norm") if sizes["block"] == "modern" else None


def _attention(sizes: Mapping[str, Json], place: int) -> dict[str, Json]:
    """Return the arguments of a modern block that depend on its place."""
    near = place in sizes["local"]
    theta, window = (sizes["local_theta"], sizes["window"]) if near else (sizes["global_theta"], None)
    return {"theta": theta, "window": window, "normed": place > 0}
