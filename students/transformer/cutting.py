"""A smaller transformer out of one: the blocks stay that its vectors need most, and the units that they use most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from keras import ops
from numpy.typing import NDArray

from ...encoders.batching import group_by_length, pad
from ...export.encode import shortened
from ...system.progress import say, task
from ...system.types import Floats, IdLists
from ..factor import factorised
from ..rebuilding import named, rebuilt
from ..sampling import SEEN, draw_rows
from .network import TransformerEncoder
from .reconstruction import reconstruct_blocks

if TYPE_CHECKING:
    from ..shape import Shape

# Texts that blocks and units are judged by, and tokens of each.
SAMPLE, TOKENS = 256, 64


def limits_of(model: TransformerEncoder) -> dict[str, int]:
    """Return the most of each size that a cut of the encoder can have."""
    sizes = {"depth": model.depth, "inner": model.inner}
    return {"rank": model.rank or model.width, **sizes, "dimension": model.dimension}


def cut(model: TransformerEncoder, shape: Shape, rows: IdLists) -> TransformerEncoder:
    """Return a `TransformerEncoder` of `shape` but for its `dimension`, judged by texts as id lists.

    Blocks that stay are fitted to make up for those that go, see `reconstruct_blocks`.
    """
    some = [shortened(list(row), TOKENS) for row in rows[:: max(1, len(rows) // SAMPLE)]]
    smaller = factorised(model, shape.rank or limits_of(model)["rank"])
    if 0 < shape.depth < model.depth:
        places = choose_blocks(smaller, shape.depth, some)
        say(f"layers that stay, counted from 0 to {model.depth - 1}: {', '.join(map(str, places))}")
        seen = draw_rows(rows, SEEN, np.random.default_rng(0))
        smaller = reconstruct_blocks(with_blocks(smaller, places), model, places, seen)
    if 0 < shape.inner < model.inner:
        smaller = with_units(smaller, shape.inner, some)
    return smaller


def choose_blocks(model: TransformerEncoder, depth: int, rows: IdLists) -> list[int]:
    """Return the places of `depth` blocks: again and again the one is left out without which vectors change least.

    Their change is the mean squared distance to the whole encoder's. Men et al. (2024), ShortGPT, and Sajjad et al.
    (2023), On the effect of dropping layers of pre-trained transformer models, judge single blocks; what the vectors
    lose together is what counts here. The first of modern blocks stays: it reads rows that are normalised already.
    """
    first = int(model.block == "modern")
    batches = [pad([rows[place] for place in group]) for group in group_by_length([len(row) for row in rows])]
    stays = list(range(model.depth))
    wanted = vectors_of(model, stays, batches)
    tries = sum(range(depth + 1 - first, model.depth + 1 - first))
    with task("which blocks stay", tries) as advance:
        while len(stays) > depth:
            damage = {}
            for place in stays[first:]:
                rest = [other for other in stays if other != place]
                damage[place] = float(np.square(vectors_of(model, rest, batches) - wanted).sum(axis=1).mean())
                advance()
            stays.remove(min(damage, key=damage.__getitem__))
    return stays


def vectors_of(model: TransformerEncoder, places: Sequence[int], batches: Sequence[NDArray[np.int32]]) -> Floats:
    """Return the vectors of padded ids `(b, t)` through these blocks alone, `(n, dimension)`."""
    return np.concatenate([ops.convert_to_numpy(model.encode_through(ids, places)) for ids in batches])


def with_blocks(model: TransformerEncoder, places: Sequence[int]) -> TransformerEncoder:
    """Return a copy with the blocks at these places alone, in their order."""
    new = {f"block_{place}/": f"block_{number}/" for number, place in enumerate(places)}
    weights = {}
    for path, weight in named(model).items():
        block, slash, rest = path.partition("/")
        if block + slash in new:
            weights[new[block + slash] + rest] = weight
    local = [number for number, place in enumerate(places) if place in model.local]
    return rebuilt(model, {"depth": len(places), "local": local}, weights)


def with_units(model: TransformerEncoder, inner: int, rows: IdLists) -> TransformerEncoder:
    """Return a copy whose feed-forward networks have `inner` units each, those that move the texts' tokens most.

    A unit moves tokens by its mean size times the length of what it adds.
    """
    weights = named(model)
    for place, sizes in enumerate(_unit_sizes(model, rows)):
        name = f"block_{place}"
        moved = sizes * np.linalg.norm(weights[f"{name}/second/kernel"], axis=1)
        best = np.sort(np.argsort(-moved, kind="stable")[:inner])
        for path, axis in (("first/kernel", 1), ("first/bias", 0), ("gate/kernel", 1), ("second/kernel", 0)):
            if f"{name}/{path}" in weights:
                weights[f"{name}/{path}"] = np.take(weights[f"{name}/{path}"], best, axis=axis)
    return rebuilt(model, {"inner": inner}, weights)


def _unit_sizes(model, rows):
    """The mean size of each unit of each block, `(depth, inner)`."""
    sizes, tokens = np.zeros((model.depth, model.inner)), 0
    for group in group_by_length([len(row) for row in rows]):
        ids = pad([rows[place] for place in group])
        x, there, order = model.place(ids)
        for place, block in enumerate(model.blocks):
            x = block.add_attention(x, there[:, None], order)
            units = np.asarray(ops.convert_to_numpy(block.compute_units(x)))
            sizes[place] += np.abs(units[ids >= 0]).sum(axis=0)
            x = block.add_units(x)
        tokens += int((ids >= 0).sum())
    return sizes / tokens
