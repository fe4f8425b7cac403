"""Round the blocks of a transformer to a coarse grid, each kernel by its inputs, without training."""

from __future__ import annotations

import numpy as np

from ...export.weights.kernels import LEVELS_OF_4, compensate_rounding, fit_kernel, is_rounded, rank_by_rounding
from ...system.progress import task
from ...system.types import IdLists
from ..building import collect_weights, rebuild
from .block import Block
from .network import TransformerEncoder
from .stream import Batches, add_units, attend, place_rows, sum_products


def round_blocks(
    model: TransformerEncoder, rows: IdLists, levels: int = LEVELS_OF_4, towards: TransformerEncoder | None = None
) -> TransformerEncoder:
    """Return a copy whose blocks' `narrow_kernels` are whole numbers up to `levels` times a scale per output channel.

    The first inputs of a kernel, as many as `narrow_kernels` says, are not rounded. The blocks are rounded in their
    order: each reads the outputs of the rounded blocks before it (`kernels.compensate_rounding`). The kernel behind the
    hidden units is first fitted to the output of the same block of `towards`, so that it compensates for earlier
    rounding (`kernels.fit_kernel`).

    Args:
        rows: The texts as lists of token ids.
        towards: A network of the same shape, for example with a table that is not rounded; by default `model`.
    """
    copy, whole = rebuild(model, {}, collect_weights(model)), towards or model
    if all(_is_rounded(block, levels) for block in copy.blocks):
        return copy
    batches, wanted = place_rows(copy, rows), place_rows(whole, rows)
    with task("rounding the blocks", copy.depth) as advance:
        for block, target in zip(copy.blocks, whole.blocks, strict=True):
            _round_qkv(block, batches, levels)
            batches, wanted = attend(block, batches), attend(target, wanted)
            _round_second(block, target, batches, wanted, levels)
            batches, wanted = add_units(block, batches), add_units(target, wanted)
            advance()
    return copy


def settle_blocks(model: TransformerEncoder, rows: IdLists) -> None:
    """Round a model's `narrow_kernels` in place, as `round_blocks` does, and stop training them.

    The norms, biases, wider kernels and the table learn to make up for it: a step of Adam is far smaller than one of a
    grid of 15 numbers. An export recovers the same grid.

    Args:
        rows: The texts as lists of token ids.
    """
    model.set_weights(round_blocks(model, rows).get_weights())
    for layer in model.token_layers:
        if layer.kernel.path in model.narrow_kernels:
            layer.kernel.trainable = False


def _is_rounded(block: Block, levels: int) -> bool:
    """Check whether all narrow kernels of a block are on their grid."""
    kernels = [*(layer.kernel for layer in block.qkv_layers), block.second.kernel[block.wide_units :]]
    return all(is_rounded(np.asarray(kernel), levels) for kernel in kernels)


def _round_qkv(block: Block, batches: Batches, levels: int) -> None:
    """Round the kernels of a block's query, key and value in place.

    A kernel that is rounded already stays unchanged.
    """
    layers = [layer for layer in block.qkv_layers if not is_rounded(np.asarray(layer.kernel), levels)]
    if layers:
        moments, _ = sum_products(batches, batches, block.normalize_inputs, lambda x, _: x[..., :0])
        for layer in layers:
            layer.kernel.assign(compensate_rounding(np.asarray(layer.kernel), moments, levels))


def _round_second(block: Block, target: Block, batches: Batches, wanted: Batches, levels: int) -> None:
    """Round a block's kernel behind the hidden units in place, after fitting it to that of `target`.

    The hidden units that are most costly to round are put first, where an export has `wide_units` in 8 bits. A kernel
    that is rounded already stays unchanged.
    """
    kernel, wide = np.asarray(block.second.kernel), block.wide_units
    if is_rounded(kernel[wide:], levels):
        return
    moments, crossed = sum_products(batches, wanted, block.compute_units, lambda _, y: target.compute_units(y))
    kernel = fit_kernel(kernel, moments, crossed @ kernel)
    order = rank_by_rounding(kernel, moments, levels)
    for layer in block.unit_layers:
        layer.set_weights([weight[..., order] for weight in layer.get_weights()])
    block.second.kernel.assign(compensate_rounding(kernel[order], moments[np.ix_(order, order)], levels, wide))
