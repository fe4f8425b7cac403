"""A static student as an artefact computes it: one text, weights in the artefact's precision."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from ....students.static.network import Context, StaticEncoder
from ....students.student import scale_to_unit
from ....system.types import Tensor
from ...tflite.layers import DENSE, Dense, EdgeLayer, Padding, Table, mask_padding, remove_padding, stack_windows
from ...weights.precision import Precision
from ...weights.rewrite import merge_projection


class EdgeEncoder(EdgeLayer):
    """Computes for one text what `StaticEncoder` does, ids `(t,)` -> `(1, d)`."""

    def __init__(self, model: StaticEncoder, precision: Precision, padding: Padding = None, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.padding, self.dimension, dense = padding, model.dimension, DENSE[precision.dense]
        self.table = Table(model.get_layer("embedding").get_weights()[0], precision, name="table")
        self.context = EdgeContext(model.get_layer("context"), dense, name="context") if model.channels else None
        residual = model.get_layer("residual")
        self.first = dense(residual.first.kernel, residual.first.bias, relu=True, name="first")
        self.second = dense(residual.second.kernel, name="second")
        self.lift = dense(merge_projection(model), name="lift")

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int, int]:
        return (1, self.dimension)

    def call(self, ids: Tensor) -> Tensor:
        ids = remove_padding(ids) if self.padding == "sliced" else ids
        masked = self.padding == "masked"
        keep = ops.cast(ops.greater_equal(ids, 0), "float32")[:, None] if masked else None  # (t, 1)
        x = mask_padding(self.table(ops.maximum(ids, 0) if masked else ids), keep)  # (t, w)
        x = mask_padding(self.context(x), keep) if self.context else x
        x = scale_to_unit(ops.sum(x, axis=0, keepdims=True))  # (1, w)
        return scale_to_unit(self.lift(x + self.second(self.first(x))))


class EdgeContext(EdgeLayer):
    """Computes for one text what `Context` does, `(t, w)` -> `(t, w)`."""

    def __init__(self, context: Context, dense: Dense, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.order = context.order
        self.first = dense(context.first.kernel, context.first.bias, relu=True, name="first")
        self.second = dense(context.second.kernel, name="second")

    def call(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(stack_windows(x, self.order)))
