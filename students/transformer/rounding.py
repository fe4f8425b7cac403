"""A transformer whose blocks lie on a coarse grid, each kernel rounded to what its inputs need: no training."""

from __future__ import annotations

import numpy as np

from ...export.weights.kernels import LEVELS_OF_4, compensate_rounding, fit_kernel, is_rounded, rank_by_rounding
from ...system.progress import task
from ...system.types import IdLists
from ..rebuilding import named, rebuilt
from .block import Block
from .network import TransformerEncoder
from .stream import Batches, add_units, attend, place_rows, sum_products


def round_blocks(
    model: TransformerEncoder, rows: IdLists, levels: int = LEVELS_OF_4, towards: TransformerEncoder | None = None
) -> TransformerEncoder:
    """Return a copy whose blocks' `narrow_kernels` are whole numbers up to `levels` times a scale an output channel.

    The first inputs of a kernel, as many as stand there beside it, are not rounded. The blocks are rounded in their
    order, on texts as id lists: each reads what the rounded blocks before it give (`kernels.compensate_rounding`). Its
    kernel behind the hidden units is first fitted to what the same block of `towards` gives, so that it compensates
    for what was rounded before it (`kernels.fit_kernel`). `towards` has the same shape, and may have a table that was
    not rounded; by default it is `model`.
    """
    copy, whole = rebuilt(model, {}, named(model)), towards or model
    if all(_is_rounded(block, levels) for block in copy.blocks):
        return copy
    batches, wanted = place_rows(copy, rows), place_rows(whole, rows)
    with task("rounding the blocks", copy.depth) as advance:
        for block, target in zip(copy.blocks, whole.blocks, strict=True):
            _round_looked(block, batches, levels)
            batches, wanted = attend(block, batches), attend(target, wanted)
            _round_second(block, target, batches, wanted, levels)
            batches, wanted = add_units(block, batches), add_units(target, wanted)
            advance()
    return copy


def settle_blocks(model: TransformerEncoder, rows: IdLists) -> None:
    """Round a model's `narrow_kernels` in place, as `round_blocks` does, and train them no more.

    What is around them, norms, biases, wider kernels and the table, learns to make up for it: a step of Adam is far
    smaller than one of a grid of 15 numbers. Their grid is the one that an export finds again.
    """
    model.set_weights(round_blocks(model, rows).get_weights())
    for layer in model.token_layers:
        if layer.kernel.path in model.narrow_kernels:
            layer.kernel.trainable = False


def _is_rounded(block: Block, levels: int) -> bool:
    """True for a block whose narrow kernels all lie on their grid."""
    kernels = [*(layer.kernel for layer in block.look_layers), block.second.kernel[block.wide_units :]]
    return all(is_rounded(np.asarray(kernel), levels) for kernel in kernels)


def _round_looked(block: Block, batches: Batches, levels: int) -> None:
    """Round the kernels of a block's query, key and value in place. One that was rounded before stays."""
    layers = [layer for layer in block.look_layers if not is_rounded(np.asarray(layer.kernel), levels)]
    if layers:
        moments, _ = sum_products(batches, batches, block.normalize_inputs, lambda x, _: x[..., :0])
        for layer in layers:
            layer.kernel.assign(compensate_rounding(np.asarray(layer.kernel), moments, levels))


def _round_second(block: Block, target: Block, batches: Batches, wanted: Batches, levels: int) -> None:
    """Round a block's kernel behind the hidden units in place, fitted to those of `target`.

    The hidden units that it costs most to round are put first, where an export has `wide_units` in 8 bits. One that was
    rounded before stays.
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
