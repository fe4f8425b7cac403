"""Poolings: the vectors of a text's tokens to one, over padded texts or packed ones.

Reimers and Gurevych (2019), Sentence-BERT, section 3, describe the first three, and Muennighoff (2022), SGPT, section
3.1, the weighted mean. Several with "+" between them stand one after another in the vector.
"""

from __future__ import annotations

from keras import ops

from ...errors import ExportError
from ...system.types import Tensor
from .block import MASKED_SCORE

POOLINGS = ("mean", "first", "max", "root", "weighted", "last")
JOINED = "+"
# What bundles and the programs that run them compute.
BUNDLED, BUNDLED_DENSE = ("mean", "first", "max"), (None, "linear", "tanh", "relu", "gelu")


def count_poolings(pooling: str) -> int:
    """Return the number of poolings whose vectors stand one after another."""
    return len(pooling.split(JOINED))


def require_bundled(pooling: str, dense: str | None) -> None:
    """Raise `ExportError` if an artefact does not compute a network's pooling or the activation behind it."""
    if pooling not in BUNDLED:
        raise ExportError(f"its pooling is {pooling}, which no artefact computes; expected {', '.join(BUNDLED)}")
    if dense not in BUNDLED_DENSE:
        known = ", ".join(name for name in BUNDLED_DENSE if name)
        raise ExportError(f"its dense layer has the activation {dense}, which no artefact computes; expected {known}")


def pool_padded(pooling: str, x: Tensor, there: Tensor) -> Tensor:
    """Pool padded texts `(b, t, w)` to `(b, n * w)` by n poolings; `there` is 1 for tokens and 0 for padding."""
    parts = [_PADDED[name](x, there) for name in pooling.split(JOINED)]
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=-1)


def pool_packed(pooling: str, x: Tensor, there: Tensor, segments: Tensor, counts: Tensor, starts: Tensor) -> Tensor:
    """Pool packed texts to `(n, m * w)` by m poolings; `segments` has the text of each token, `starts` its begin."""
    parts = [_PACKED[name](x, there, segments, counts, starts) for name in pooling.split(JOINED)]
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=-1)


def _mean_padded(x, there):
    return ops.sum(x * there, axis=1) / ops.maximum(ops.sum(there, axis=1), 1)


def _weighted_padded(x, there):
    weights = there * ops.cumsum(there, axis=1)
    return ops.sum(x * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1)


def _take_padded(x, places):
    return ops.take_along_axis(x, places[:, None], axis=1)[:, 0]


def _sum_packed(x, segments, counts):
    return ops.segment_sum(x, segments, num_segments=ops.shape(counts)[0])


def _weighted_packed(x, there, segments, counts, starts):
    order = ops.arange(ops.shape(x)[0], dtype="int32") - ops.take(starts, segments)
    weights = there * ops.cast(order + 1, "float32")[:, None]
    return _sum_packed(x * weights, segments, counts) / (counts * (counts + 1) / 2)


def _last_packed(x, there, segments, counts, starts):
    return ops.take(x, starts + ops.cast(counts[:, 0], "int32") - 1, axis=0)


_PADDED = {
    "mean": _mean_padded,
    "first": lambda x, there: _take_padded(x, ops.argmax(there, axis=1)),
    "max": lambda x, there: ops.max(x + (1 - there) * MASKED_SCORE, axis=1),
    "root": lambda x, there: _mean_padded(x, there) * ops.sqrt(ops.sum(there, axis=1)),
    "weighted": _weighted_padded,
    # Of equal sums argmax takes the first, and paddings behind a text add nothing.
    "last": lambda x, there: _take_padded(x, ops.argmax(ops.cumsum(there, axis=1), axis=1)),
}
_PACKED = {
    "mean": lambda x, there, segments, counts, starts: _sum_packed(x * there, segments, counts) / counts,
    "first": lambda x, there, segments, counts, starts: ops.take(x, starts, axis=0),
    "max": lambda x, there, segments, counts, starts: ops.segment_max(
        x + (1 - there) * MASKED_SCORE, segments, num_segments=ops.shape(counts)[0]
    ),
    "root": lambda x, there, segments, counts, starts: _sum_packed(x * there, segments, counts) / ops.sqrt(counts),
    "weighted": _weighted_packed,
    "last": _last_packed,
}
