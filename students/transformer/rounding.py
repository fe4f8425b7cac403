"""A transformer whose blocks lie on a coarse grid, each kernel rounded to what its inputs need: no training."""

from __future__ import annotations

import numpy as np
from keras import ops

from ...encoders.batching import by_length, pad
from ...export.weights.kernels import LEVELS_OF_4, compensate_rounding, fit_kernel, is_rounded, rank_by_rounding
from ...system.progress import task
from ...system.types import Doubles, IdLists, Tensor
from ..rebuilding import named, rebuilt
from .block import Block
from .network import TransformerEncoder

# Tokens `(b, t, w)`, which of them are there `(b, t)` and their places `(b, t)`, of each batch.
Batches = list[tuple[Tensor, Tensor, Tensor]]


def round_blocks(
    model: TransformerEncoder, rows: IdLists, levels: int = LEVELS_OF_4, towards: TransformerEncoder | None = None
) -> TransformerEncoder:
    """Return a copy whose blocks' `narrow_kernels` are whole numbers up to `levels` times a scale an output channel.

    The first `wide_units` inputs of a kernel are not rounded. The blocks are rounded in their order, on texts as id
    lists: each reads what the rounded blocks before it give, and is fitted to what the same block of `towards` gives,
    so that it compensates for what was rounded before it (`kernels.fit_kernel`, `kernels.compensate_rounding`).
    `towards` has the same shape, and may have a table that was not rounded; by default it is `model`.
    """
    copy, whole = rebuilt(model, {}, named(model)), towards or model
    batches, wanted = _placed(copy, rows), _placed(whole, rows)
    with task("rounding the blocks", copy.depth) as advance:
        for block, target in zip(copy.blocks, whole.blocks, strict=True):
            batches, wanted = _attend(block, batches), _attend(target, wanted)
            _round_second(block, _sum_products(block, target, batches, wanted), levels)
            batches, wanted = _add_units(block, batches), _add_units(target, wanted)
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


def _placed(model, rows):
    return [model.place(pad([rows[place] for place in group])) for group in by_length([len(row) for row in rows])]


def _attend(block: Block, batches: Batches) -> Batches:
    return [(block.add_attention(x, there[:, None], places), there, places) for x, there, places in batches]


def _add_units(block: Block, batches: Batches) -> Batches:
    return [(block.add_units(x), there, places) for x, there, places in batches]


def _round_second(block: Block, products: tuple[Doubles, Doubles], levels: int) -> None:
    """Round a block's one kernel of `narrow_kernels` in place, by what `_sum_products` gives.

    The hidden units that it costs most to round are put first, where an export has `wide_units` in 8 bits. One that was
    rounded before stays.
    """
    (moments, crossed), kernel, wide = products, np.asarray(block.second.kernel), block.wide_units
    if is_rounded(kernel[wide:], levels):
        return
    kernel = fit_kernel(kernel, moments, crossed @ kernel)
    order = rank_by_rounding(kernel, moments, levels)
    for layer in block.unit_layers:
        layer.set_weights([weight[..., order] for weight in layer.get_weights()])
    block.second.kernel.assign(compensate_rounding(kernel[order], moments[np.ix_(order, order)], levels, wide))


def _sum_products(block: Block, target: Block, batches: Batches, wanted: Batches) -> tuple[Doubles, Doubles]:
    """The sums of products of a block's hidden units with themselves and with those of `target`.

    Both are float64 `(in, in)`, over the tokens that are there.
    """
    moments = crossed = np.zeros((block.inner, block.inner))
    for (x, there, _), (y, _, _) in zip(batches, wanted, strict=True):
        real = ops.convert_to_numpy(there)
        units, others = (ops.convert_to_numpy(of.compute_units(z))[real] for of, z in ((block, x), (target, y)))
        moments, crossed = moments + units.T @ units, crossed + units.T @ others
    return moments, crossed
