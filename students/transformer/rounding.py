"""A transformer whose blocks lie on a coarse grid, each kernel rounded to what its inputs need: no training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from keras import ops

from ...encoders.batching import by_length, pad
from ...export.weights.kernels import LEVELS_OF_4, compensate_rounding
from ...system.progress import task
from ...system.types import Doubles, IdLists, Tensor
from ..rebuilding import named, rebuilt
from .block import Block
from .network import TransformerEncoder

# Tokens `(b, t, w)`, which of them are there `(b, t)` and their places `(b, t)`, of each batch.
Batches = list[tuple[Tensor, Tensor, Tensor]]


def round_blocks(model: TransformerEncoder, rows: IdLists, levels: int = LEVELS_OF_4) -> TransformerEncoder:
    """Return a copy whose blocks' `narrow_kernels` are whole numbers up to `levels` times a scale an output channel.

    Block after block, from the inputs that the rounded blocks before it give of texts as id lists. See
    `kernels.compensate_rounding`.
    """
    copy = rebuilt(model, {}, named(model))
    batches = _placed(copy, rows)
    with task("rounding the blocks", copy.depth) as advance:
        for block in copy.blocks:
            attended = [(block.add_attention(x, there[:, None], places), there, places) for x, there, places in batches]
            _round_second(block, attended, levels)
            batches = [(block.add_units(x), there, places) for x, there, places in attended]
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


def _round_second(block: Block, attended: Batches, levels: int) -> None:
    """Round a block's one kernel of `narrow_kernels` in place, of tokens after attention."""
    units = _moments(attended, block.compute_units)
    block.second.kernel.assign(compensate_rounding(np.asarray(block.second.kernel), units, levels))


def _moments(batches: Batches, inputs: Callable[[Tensor], Tensor]) -> Doubles:
    """The sums of products of a layer's inputs, float64 `(in, in)`, over the tokens that are there."""
    sums: Doubles | float = 0.0
    for x, there, _ in batches:
        tokens = ops.convert_to_numpy(inputs(x))[ops.convert_to_numpy(there)]
        sums = sums + (tokens.T @ tokens).astype(np.float64)
    return np.asarray(sums)
