"""Pass batches of tokens through half a block at a time, and sum the products that kernels are fitted by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from keras import ops

from ...encoders.batching import group_by_length, pad
from ...system.types import Doubles, Floats, IdLists, Tensor
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
    """Sum the products of inputs with themselves and with outputs over all tokens that are no padding.

    Within a batch the sums are in float32.

    Args:
        inputs: `inputs(x)` computes the inputs `(b, t, in)`.
        outputs: `outputs(x, y)` computes the outputs `(b, t, out)`.

    Returns:
        The sums `(in, in)` and `(in, out)`, float64.
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
