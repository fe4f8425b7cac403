"""Batches of tokens through half a block at a time, and the sums of products that kernels are fitted by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from keras import ops

from ...encoders.batching import group_by_length, pad
from ...system.types import Doubles, Floats, IdLists, Tensor
from .block import Block
from .network import TransformerEncoder

# Tokens `(b, t, w)`, which of them are there `(b, t)` and their places `(b, t)`, of each batch.
Batches = list[tuple[Tensor, Tensor, Tensor]]


def place_rows(model: TransformerEncoder, rows: IdLists) -> Batches:
    """Return the tokens of id lists as inputs of the first block, in batches of like length."""
    placed = (
        model.place(pad([rows[place] for place in group])) for group in group_by_length([len(row) for row in rows])
    )
    return [(ops.stop_gradient(x), there, places) for x, there, places in placed]


def attend(block: Block, batches: Batches) -> Batches:
    """Return the tokens behind the attention of a block."""
    return _moved(batches, lambda x, there, places: block.add_attention(x, there[:, None], places))


def add_units(block: Block, batches: Batches) -> Batches:
    """Return the tokens behind the hidden units of a block."""
    return _moved(batches, lambda x, there, places: block.add_units(x))


def sum_products(
    ours: Batches,
    others: Batches,
    inputs: Callable[[Tensor], Tensor],
    outputs: Callable[[Tensor, Tensor], Tensor],
) -> tuple[Doubles, Doubles]:
    """Return the sums of products of inputs with themselves, `(in, in)`, and with outputs, `(in, out)`, in float64.

    The sums are over the tokens that are no padding, within a batch in float32. `inputs(x)`, `(b, t, in)`, are computed
    of `ours`, `outputs(x, y)`, `(b, t, out)`, of both.
    """
    moments = crossed = np.zeros((1, 1))
    for (x, there, _), (y, _, _) in zip(ours, others, strict=True):
        real = ops.convert_to_numpy(there)
        values, wanted = (_numbers(part)[real] for part in (inputs(x), outputs(x, y)))
        moments, crossed = moments + values.T @ values, crossed + values.T @ wanted
    return moments, crossed


def _moved(batches, move):
    # On PyTorch a tensor with a gradient would keep all that it was computed from in memory.
    return [(ops.stop_gradient(move(*batch)), *batch[1:]) for batch in batches]


def _numbers(x: Tensor) -> Floats:
    return ops.convert_to_numpy(ops.stop_gradient(x))
