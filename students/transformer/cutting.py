"""Cut a transformer: the blocks and the hidden units are kept on which its vectors depend most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from keras import ops
from numpy.typing import NDArray

from ...encoders.batching import SAMPLE_TOKENS, draw_texts, group_by_length, pad
from ...export.encode import shortened
from ...export.weights.kernels import fit_kernel
from ...system.progress import say, task
from ...system.types import Floats, IdLists, Tensor
from ..project import collect_weights, factorise, rebuild
from .block import Block
from .network import TransformerEncoder
from .rounding import Batches, add_units, attend, place_rows, sum_products

if TYPE_CHECKING:
    from ..shape import Shape


# The ridge as a share of the hidden units' mean square, which pulls a kernel to its old value. It is smaller than for
# a kernel that is only rounded, as the block has more to make up for.
RIDGE = 0.005


def reconstruct_blocks(
    smaller: TransformerEncoder, whole: TransformerEncoder, places: Sequence[int], rows: IdLists
) -> TransformerEncoder:
    """Fit the blocks of a cut encoder, in place, to the outputs of the whole encoder.

    Tokens are to leave each remaining block as they reach the next remaining one in the whole encoder. So the last
    kernel of each block, in order, is fitted by least squares on the inputs that the fitted blocks before it give, and
    the block takes the final normalisation of the last removed block behind it. He et al. (2017), Channel pruning for
    accelerating very deep neural networks, section 3.1, reconstruct outputs in this way; the inputs are those of Li et
    al. (2025), GPTAQ. `smaller` is the encoder with only the blocks of `whole` at `places`. `places` are the places of
    the remaining blocks, ascending.
    """
    ours, others = place_rows(smaller, rows), place_rows(whole, rows)
    ends = [*places[1:], whole.depth]
    with task("fitting the layers that stay", whole.depth) as advance:
        for block, begin, end in zip(smaller.blocks, [0, *ends[:-1]], ends, strict=True):
            *removed, last = whole.blocks[begin:end]
            for other in removed:
                others = add_units(other, attend(other, others))
            ours, others = attend(block, ours), attend(last, others)
            _fit(block, last, ours, others)
            ours, others = add_units(block, ours), add_units(last, others)
            advance(end - begin)
    return smaller


def _fit(block: Block, last: Block, ours: Batches, others: Batches) -> None:
    """Fit a block's last kernel, and its bias if it has one, to the sums behind the hidden units of `last`."""
    weights = block.second.get_weights()
    kernel = np.concatenate([np.reshape(weight, (-1, weight.shape[-1])) for weight in weights])
    biased = len(weights) > 1

    def units(x: Tensor) -> Tensor:
        given = block.compute_units(x)
        return ops.concatenate([given, ops.ones_like(given[..., :1])], axis=-1) if biased else given

    products = sum_products(ours, others, units, lambda x, y: last.sum_units(y) - x)
    kernel = fit_kernel(kernel, *products, ridge=RIDGE)
    block.second.set_weights([kernel[:-1], kernel[-1]] if biased else [kernel])
    block.copy_final_norm(last)


# The number of texts by which blocks and units are judged, and of tokens per text.
SAMPLE, TOKENS = 256, 64


def limits_of(model: TransformerEncoder) -> dict[str, int]:
    """Return the largest sizes that a cut of the encoder can have."""
    sizes = {"depth": model.depth, "inner": model.inner}
    return {"rank": model.rank or model.width, **sizes, "dimension": model.dimension}


def cut(model: TransformerEncoder, shape: Shape, rows: IdLists) -> TransformerEncoder:
    """Cut a transformer to a shape, except for its `dimension`, as texts judge its blocks and units.

    The remaining blocks are fitted to make up for the removed ones, see `reconstruct_blocks`.
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
    already. Returns the places of the kept blocks, ascending.
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
    """Compute the vectors `(n, dimension)` of padded ids through some of the blocks."""
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
    """Return a copy with fewer hidden units per block, those whose size times output weights is the greatest."""
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
