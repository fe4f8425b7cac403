"""Fit the remaining blocks of a cut encoder to the whole encoder by least squares, without training."""

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
    al. (2025), GPTAQ.

    Args:
        smaller: The encoder with only the blocks of `whole` at `places`.
        places: The places of the remaining blocks, ascending.
        rows: The texts as lists of token ids.
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
