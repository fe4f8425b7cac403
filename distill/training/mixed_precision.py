"""Mixed precision: within a training step the layers over tokens compute in 16 bits, all else in float32.

Weights, the sums over a text's tokens, what comes after them and the losses stay float32, and so does the encoder
outside of the step: on dev it is what will be saved. bfloat16 has float32's range, so that no loss is scaled. In
float16 small gradients would be zeros: the loss is scaled up before them, and a step whose gradients overflow is left
out and halves the scale (`rates.make_adam`). Micikevicius et al. (2018), Mixed precision training; Kalamkar et al.
(2019), A study of BFLOAT16 for deep learning training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import keras
from keras import ops

from ..system.types import Model, Tensor


def mixed_encode(
    encoder: Model,
    policy: str,
    packed: Mapping[str, Tensor],
    rows: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Encode packed texts in 16 bits between the table's embeddings and the sums over tokens.

    Embeddings are cast after they are gathered, so the gradient of a token is summed in float32.

    Args:
        policy: Keras's dtype policy of the layers over tokens, `device.BFLOAT16` or `device.FLOAT16`.

    Returns:
        The vectors, float32 `(n, d)`.
    """

    def cast(x):
        return ops.cast(rows(x) if rows else x, policy.removeprefix("mixed_"))

    with apply_policy(encoder.token_layers, policy):
        return encoder.encode_packed(**packed, rows=cast)


@contextmanager
def apply_policy(layers: Iterable[keras.layers.Layer], policy: str) -> Iterator[None]:
    """Apply a dtype policy to layers, and those inside them, within a block."""
    before = [(layer, layer.dtype_policy) for outer in layers for layer in outer._flatten_layers()]
    try:
        for layer, _ in before:
            layer.dtype_policy = policy
        yield
    finally:
        for layer, former in before:
            layer.dtype_policy = former
