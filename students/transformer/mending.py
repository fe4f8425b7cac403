"""Blocks that stay learn what the blocks that go did, by least squares and without training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from ...export.weights.kernels import fit_kernel
from ...system.progress import task
from ...system.types import IdLists, Tensor
from .block import Block
from .network import TransformerEncoder
from .stream import Batches, add_units, attend, place_rows, sum_products

# Of the mean square of a hidden unit: how much a kernel is drawn to what it was. Below that of a kernel that is only
# rounded, as it has more to learn.
RIDGE = 0.005


def mend_blocks(
    smaller: TransformerEncoder, whole: TransformerEncoder, places: Sequence[int], rows: IdLists
) -> TransformerEncoder:
    """Fit `smaller` in place, which has the blocks of `whole` at these `places` alone; returns it.

    In their order each block's last kernel is fitted on texts as id lists, so that tokens leave the block as they come
    to the next one that stays in `whole`, whatever the blocks before it left out. The squared error of their sums is
    the least; a normalisation behind them becomes that of the last block that is left out there. He et al. (2017),
    Channel pruning, section 3.1, reconstruct what a layer gives in this way, with the inputs as Li et al. (2025) take
    them, GPTAQ.
    """
    ours, others, ends = place_rows(smaller, rows), place_rows(whole, rows), [*places[1:], whole.depth]
    with task("the blocks make up for those that go", whole.depth) as advance:
        done = 0
        for block, end in zip(smaller.blocks, ends, strict=True):
            ours = attend(block, ours)
            for last in whole.blocks[done:end]:
                others = attend(last, others)
                if last is whole.blocks[end - 1]:
                    _fit(block, last, ours, others)
                others = add_units(last, others)
                advance()
            ours, done = add_units(block, ours), end
    return smaller


def _fit(block: Block, last: Block, ours: Batches, others: Batches) -> None:
    """Fit a block's last kernel, and its bias where it has one, to the sums behind the hidden units of `last`."""
    weights = block.second.get_weights()
    kernel = np.concatenate([np.reshape(weight, (-1, weight.shape[-1])) for weight in weights])
    biased = len(weights) > 1

    def units(x: Tensor) -> Tensor:
        given = block.compute_units(x)
        return ops.concatenate([given, ops.ones_like(given[..., :1])], axis=-1) if biased else given

    products = sum_products(ours, others, units, lambda x, y: last.sum_units(y) - x)
    kernel = fit_kernel(kernel, *products, ridge=RIDGE)
    block.second.set_weights([kernel[:-1], kernel[-1]] if biased else [kernel])
    block.end_as(last)
