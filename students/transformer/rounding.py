"""Round the blocks of a transformer to a coarse grid, each kernel by its inputs, without training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from keras import Variable, ops

from ...encoders.batching import group_by_length, pad
from ...export.weights.kernels import LEVELS_OF_4, compensate_rounding, fit_kernel, is_rounded, rank_by_rounding
from ...system.progress import task
from ...system.types import Doubles, Floats, IdLists, Integers, Tensor
from ..project import collect_weights, rebuild
from .block import Block
from .network import TransformerEncoder

# The tokens `(b, t, w)`, their mask `(b, t)` and their places `(b, t)` of each batch.
Batches = list[tuple[Tensor, Tensor, Tensor]]


def place_rows(model: TransformerEncoder, rows: IdLists) -> Batches:
    """Compute the inputs of the first block for some texts, in batches of similar length."""
    placed = (
        model.place(pad([rows[place] for place in group])) for group in group_by_length([len(row) for row in rows])
    )
    return [(ops.stop_gradient(x), there, places) for x, there, places in placed]


def attend(block: Block, batches: Batches) -> Batches:
    """Pass batches through the attention of a block."""
    return _apply(batches, lambda x, there, places: block.add_attention(x, there[:, None], places))


def add_units(block: Block, batches: Batches) -> Batches:
    """Pass batches through the feed-forward network of a block."""
    return _apply(batches, lambda x, there, places: block.add_units(x))


def sum_products(
    ours: Batches,
    others: Batches,
    inputs: Callable[[Tensor], Tensor],
    outputs: Callable[[Tensor, Tensor], Tensor],
) -> tuple[Doubles, Doubles]:
    """Sum the products of inputs with themselves, `(in, in)`, and with outputs, `(in, out)`, over all that is no
    padding.

    `inputs(x)` and `outputs(x, y)` compute `(b, t, in)` and `(b, t, out)`. Within a batch the sums are in float32.
    """
    moments = crossed = np.zeros((1, 1))
    for (x, there, _), (y, _, _) in zip(ours, others, strict=True):
        real = ops.convert_to_numpy(there)
        values, wanted = (_numbers(part)[real] for part in (inputs(x), outputs(x, y)))
        moments, crossed = moments + values.T @ values, crossed + values.T @ wanted
    return moments, crossed


def _apply(batches, move):
    # On PyTorch a tensor with a gradient would keep everything that it was computed from in memory.
    return [(ops.stop_gradient(move(*batch)), *batch[1:]) for batch in batches]


def _numbers(x: Tensor) -> Floats:
    return ops.convert_to_numpy(ops.stop_gradient(x))


def round_blocks(
    model: TransformerEncoder, rows: IdLists, levels: int = LEVELS_OF_4, towards: TransformerEncoder | None = None
) -> TransformerEncoder:
    """Return a copy whose blocks' `narrow_kernels` are whole numbers up to `levels` times a scale per output channel.

    The first inputs of a kernel, as many as `narrow_kernels` says, are not rounded. The blocks are rounded in their
    order: each reads the outputs of the rounded blocks before it (`kernels.compensate_rounding`). A kernel is first
    fitted to what the same one of `towards` gives, so that it compensates for earlier rounding (`kernels.fit_kernel`).
    `towards` is a network of the same shape, for example with a table that is not rounded; by default `model`.
    """
    return _round_copy(model, rows, levels, towards or model)[0]


def _round_copy(
    model: TransformerEncoder, rows: IdLists, levels: int, whole: TransformerEncoder
) -> tuple[TransformerEncoder, list[Integers | None]]:
    """Round a copy as `round_blocks` does, and return it with the order of each block's units, None if it stayed."""
    copy = rebuild(model, {}, collect_weights(model))
    if all(_is_rounded(block, levels) for block in copy.blocks):
        return copy, [None] * copy.depth
    batches, wanted, orders = place_rows(copy, rows), place_rows(whole, rows), []
    with task("rounding the blocks", copy.depth) as advance:
        for block, target in zip(copy.blocks, whole.blocks, strict=True):
            _round_qkv(block, target, batches, wanted, levels)
            batches, wanted = attend(block, batches), attend(target, wanted)
            orders.append(_round_second(block, target, batches, wanted, levels))
            batches, wanted = add_units(block, batches), add_units(target, wanted)
            advance()
    return copy, orders


def settle_blocks(model: TransformerEncoder, rows: IdLists) -> tuple[list[Variable], list[tuple[Variable, Integers]]]:
    """Round a model's `narrow_kernels` in place, as `round_blocks` does.

    The norms, biases, wider kernels and the table learn to make up for it: a step of Adam is far smaller than one of a
    grid of 15 numbers. An export recovers the same grid. Returns the narrow kernels, which are to stay so, and the
    others whose last axis has another order now, each with that order.
    """
    rounded, orders = _round_copy(model, rows, LEVELS_OF_4, model)
    model.set_weights(rounded.get_weights())
    reordered = [
        (weight, order)
        for block, order in zip(model.blocks, orders, strict=True)
        if order is not None
        for layer in block.unit_layers
        for weight in layer.weights
    ]
    return [layer.kernel for layer in model.token_layers if layer.kernel.path in model.narrow_kernels], reordered


def _is_rounded(block: Block, levels: int) -> bool:
    """Check whether all narrow kernels of a block are on their grid."""
    kernels = [*(layer.kernel for layer in block.qkv_layers), block.second.kernel[block.wide_units :]]
    return all(is_rounded(np.asarray(kernel), levels) for kernel in kernels)


def _round_qkv(block: Block, target: Block, batches: Batches, wanted: Batches, levels: int) -> None:
    """Round the kernels of a block's query, key and value in place, after fitting them to those of `target`.

    A kernel that is rounded already stays as it is.
    """
    layers = [layer for layer in block.qkv_layers if not is_rounded(np.asarray(layer.kernel), levels)]
    if layers:
        moments, crossed = sum_products(
            batches, wanted, block.normalize_inputs, lambda _, y: target.normalize_inputs(y)
        )
        for layer in layers:
            kernel = np.asarray(layer.kernel)
            kernel = fit_kernel(kernel, moments, crossed @ kernel)
            layer.kernel.assign(compensate_rounding(kernel, moments, levels))


def _round_second(block: Block, target: Block, batches: Batches, wanted: Batches, levels: int) -> Integers | None:
    """Round a block's kernel behind the hidden units in place, after fitting it to that of `target`.

    The hidden units that are most costly to round are put first, where an export has `wide_units` in 8 bits. A kernel
    that is rounded already stays unchanged. Returns the units' order, or None if that stays.
    """
    kernel, wide = np.asarray(block.second.kernel), block.wide_units
    if is_rounded(kernel[wide:], levels):
        return None
    moments, crossed = sum_products(batches, wanted, block.compute_units, lambda _, y: target.compute_units(y))
    kernel = fit_kernel(kernel, moments, crossed @ kernel)
    order = rank_by_rounding(kernel, moments, levels)
    for layer in block.unit_layers:
        layer.set_weights([weight[..., order] for weight in layer.get_weights()])
    block.second.kernel.assign(compensate_rounding(kernel[order], moments[np.ix_(order, order)], levels, wide))
    return order
