"""Cut a transformer: the blocks and the hidden units are kept on which its vectors depend most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from keras import ops
from numpy.typing import NDArray

from ...encoders.batching import SAMPLE_TOKENS, draw_texts, group_by_length, pad
from ...export.encode import shortened
from ...system.progress import say, task
from ...system.types import Floats, IdLists
from ..building import collect_weights, factorise, rebuild
from .network import TransformerEncoder
from .reconstruction import reconstruct_blocks

if TYPE_CHECKING:
    from ..shape import Shape

# The number of texts by which blocks and units are judged, and of tokens per text.
SAMPLE, TOKENS = 256, 64


def limits_of(model: TransformerEncoder) -> dict[str, int]:
    """Return the largest sizes that a cut of the encoder can have."""
    sizes = {"depth": model.depth, "inner": model.inner}
    return {"rank": model.rank or model.width, **sizes, "dimension": model.dimension}


def cut(model: TransformerEncoder, shape: Shape, rows: IdLists) -> TransformerEncoder:
    """Cut a transformer to a shape, except for its `dimension`.

    The remaining blocks are fitted to make up for the removed ones, see `reconstruct_blocks`.

    Args:
        rows: The texts by which blocks and units are judged, as lists of token ids.
    """
    some = [shortened(list(row), TOKENS) for row in rows[:: max(1, len(rows) // SAMPLE)]]
    smaller = factorise(model, shape.rank or limits_of(model)["rank"])
    if 0 < shape.depth < model.depth:
        places = choose_blocks(smaller, shape.depth, some)
        say(f"layers that stay, counted from 0 to {model.depth - 1}: {', '.join(map(str, places))}")
        seen = draw_texts(rows, SAMPLE_TOKENS, np.random.default_rng(0))
        smaller = reconstruct_blocks(select_blocks(smaller, places), model, places, seen)
    if 0 < shape.inner < model.inner:
        smaller = select_units(smaller, shape.inner, some)
    return smaller


def choose_blocks(model: TransformerEncoder, depth: int, rows: IdLists) -> list[int]:
    """Choose the blocks to keep: the block whose removal changes the vectors least is removed, until `depth` are left.

    The change is the mean squared distance to the vectors of the whole encoder. Men et al. (2024), ShortGPT, and Sajjad
    et al. (2023), On the effect of dropping layers of pre-trained transformer models, judge single blocks; here their
    joint effect on the vectors counts. The first block of modern ones is always kept, as its inputs are normalised
    already.

    Args:
        rows: The texts as lists of token ids.

    Returns:
        The places of the kept blocks, ascending.
    """
    first = int(model.block == "modern")
    batches = [pad([rows[place] for place in group]) for group in group_by_length([len(row) for row in rows])]
    stays = list(range(model.depth))
    wanted = encode_batches(model, stays, batches)
    tries = sum(range(depth + 1 - first, model.depth + 1 - first))
    with task("which blocks stay", tries) as advance:
        while len(stays) > depth:
            damage = {}
            for place in stays[first:]:
                rest = [other for other in stays if other != place]
                damage[place] = float(np.square(encode_batches(model, rest, batches) - wanted).sum(axis=1).mean())
                advance()
            stays.remove(min(damage, key=damage.__getitem__))
    return stays


def encode_batches(model: TransformerEncoder, places: Sequence[int], batches: Sequence[NDArray[np.int32]]) -> Floats:
    """Compute vectors through some of the blocks.

    Args:
        batches: Batches of padded ids `(b, t)`.

    Returns:
        The vectors `(n, dimension)`.
    """
    return np.concatenate([ops.convert_to_numpy(model.encode_through(ids, places)) for ids in batches])


def select_blocks(model: TransformerEncoder, places: Sequence[int]) -> TransformerEncoder:
    """Return a copy with only some of the blocks, in their order."""
    new = {f"block_{place}/": f"block_{number}/" for number, place in enumerate(places)}
    weights = {}
    for path, weight in collect_weights(model).items():
        block, slash, rest = path.partition("/")
        if block + slash in new:
            weights[new[block + slash] + rest] = weight
    local = [number for number, place in enumerate(places) if place in model.local]
    return rebuild(model, {"depth": len(places), "local": local}, weights)


def select_units(model: TransformerEncoder, inner: int, rows: IdLists) -> TransformerEncoder:
    """Return a copy with fewer hidden units per block: those that change the tokens of some texts most.

    The change is the mean size of the unit times the length of its output weights.
    """
    weights = collect_weights(model)
    for place, sizes in enumerate(_measure_units(model, rows)):
        name = f"block_{place}"
        moved = sizes * np.linalg.norm(weights[f"{name}/second/kernel"], axis=1)
        best = np.sort(np.argsort(-moved, kind="stable")[:inner])
        for path, axis in (("first/kernel", 1), ("first/bias", 0), ("gate/kernel", 1), ("second/kernel", 0)):
            if f"{name}/{path}" in weights:
                weights[f"{name}/{path}"] = np.take(weights[f"{name}/{path}"], best, axis=axis)
    return rebuild(model, {"inner": inner}, weights)


def _measure_units(model, rows):
    """Return the mean size of each hidden unit of each block, `(depth, inner)`."""
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
