"""Mixed precision: within a training step the layers over tokens compute in bfloat16, all else in float32.

Weights, the sums over a text's tokens, what comes after them and the losses stay float32, and so does the encoder
outside of the step: on dev it is what will be saved. bfloat16 has float32's range, so that no loss is scaled.
Micikevicius et al. (2018), Mixed precision training; Kalamkar et al. (2019), A study of BFLOAT16 for deep learning
training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import keras
from keras import ops

from ..system.types import Model, Tensor

DTYPE = "bfloat16"
POLICY = f"mixed_{DTYPE}"


def mixed_encode(
    encoder: Model,
    ids: Tensor,
    segments: Tensor,
    counts: Tensor,
    pieces: Tensor,
    rows: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """`Student.encode_packed` with bfloat16 between the table's rows and the sums over tokens: float32 `(n, d)`.

    The rows are cast when they are those of the texts, so that a piece's gradient is summed in float32.
    """

    def cast(x):
        return ops.cast(rows(x) if rows else x, DTYPE)

    with policy_of(encoder.token_layers, POLICY):
        return encoder.encode_packed(ids, segments, counts, pieces, rows=cast)


@contextmanager
def policy_of(layers: Iterable[keras.layers.Layer], policy: str) -> Iterator[None]:
    """Within it the layers, and those inside them, compute by the dtype policy of that name; after it by their own."""
    before = [(layer, layer.dtype_policy) for outer in layers for layer in outer._flatten_layers()]
    try:
        for layer, _ in before:
            layer.dtype_policy = policy
        yield
    finally:
        for layer, former in before:
            layer.dtype_policy = former
