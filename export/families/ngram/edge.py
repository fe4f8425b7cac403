"""An n-gram student as an artefact computes it: one text, tokens by channels, weights in the artefact's precision.

With two dimensions every operator runs in one delegate of the runtime, which accounts for most of its speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from keras import ops

from ....students.ngram.network import Branch, NGramEncoder
from ....students.student import scale_to_unit
from ....system.types import Floats, Tensor
from ...tflite.layers import (
    DENSE,
    Dense,
    EdgeLayer,
    Norm,
    Padding,
    Table,
    add_constant,
    keep_apart,
    mask_padding,
    remove_padding,
    stack_windows,
)
from ...weights.precision import Precision
from ...weights.rewrite import balance, complement, factor_of, merge, projection_of


class EdgeEncoder(EdgeLayer):
    """Computes for one text what `NGramEncoder` does, ids `(t,)` -> `(1, d)`. Padding is None, "masked" or "sliced"."""

    def __init__(self, model: NGramEncoder, precision: Precision, padding: Padding = None, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.padding, self.dimension = padding, model.dimension
        self.table = Table(model.get_layer("embedding").get_weights()[0], precision, name="table")
        factor = factor_of(model)
        self.factor = None if factor is None else DENSE[precision.dense](factor, name="factor")
        self.branches = [EdgeBranch(branch, factor, precision, name=branch.name) for branch in model.branches]
        self.norm = Norm(model.get_layer("norm"), name="norm")
        head, pooling = model.get_layer("head"), model.get_layer("pooling")
        kernels = balance({name: np.asarray(getattr(head, name).kernel) for name in head.sizes})
        kernel, bias = merge(np.asarray(pooling.dense.kernel), np.asarray(pooling.bias), kernels)
        self.pooling = EdgePooling(kernel, bias, precision, name="pooling")
        self.head = EdgeHead(kernels, projection_of(model), precision, name="head")

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int, int]:
        return (1, self.dimension)

    def call(self, ids: Tensor) -> Tensor:
        ids = remove_padding(ids) if self.padding == "sliced" else ids
        here = ops.cast(ops.greater_equal(ids, 0), "float32")
        masked = self.padding == "masked"
        keep = here[:, None] if masked else None  # (t, 1)
        x = self.table(ops.maximum(ids, 0) if masked else ids)  # (t, w)
        branches = [branch(x, keep) for branch in self.branches]
        joined = ops.concatenate([self.factor(x) if self.factor else x, *branches], axis=-1)
        # A count of the ids stays dynamic, while one of the shape would be folded to the traced length.
        count = ops.sum(here, axis=0, keepdims=True)[:, None]  # (1, 1)
        return self.head(self.pooling(mask_padding(self.norm(joined), keep), count))


class EdgeBranch(EdgeLayer):
    """Computes for one text what `Branch` does, `(t, w)` -> `(t, c)`; the factor of a narrow table is part of it."""

    def __init__(self, branch: Branch, factor: Floats | None, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        dense = DENSE[precision.dense]
        self.order, self.norm = branch.order, Norm(branch.norm, name="norm")
        kernel = np.asarray(branch.projection.kernel)
        kernel = kernel if factor is None else factor @ kernel
        self.projection = dense(kernel, branch.projection.bias, name="projection")
        self.convolutions = [
            dense(part.dense.kernel, part.dense.bias, relu=True, name=part.name) for part in branch.convolutions
        ]

    def call(self, x: Tensor, keep: Tensor | None) -> Tensor:
        x = self.norm(self.projection(x))
        for convolution in self.convolutions:
            x = mask_padding(x, keep)
            x = x + convolution(stack_windows(x, self.order))
        return x


class EdgePooling(EdgeLayer):
    """Computes what `Pooling` and the head's first products do: `(t, w)` and their number `(1, 1)` -> `(1, 2 h)`."""

    def __init__(self, kernel: Floats, bias: Floats, precision: Precision, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.dense, self.bias = DENSE[precision.dense](kernel, name="dense"), add_constant(self, bias)

    def call(self, features: Tensor, count: Tensor) -> Tensor:
        # Summing first leaves the runtime one row to round and multiply instead of one per token.
        return (self.dense(ops.sum(features, axis=0, keepdims=True)) + count * self.bias) / ops.sqrt(count)


class EdgeHead(EdgeLayer):
    """Computes what `Head` does after its first products, balanced, and `Projection`: `(1, 2 h)` -> `(1, d)`."""

    def __init__(
        self, kernels: Mapping[str, Floats], projection: Floats | None, precision: Precision, **kwargs: str
    ) -> None:
        super().__init__(**kwargs)
        dense, self.hidden = DENSE[precision.dense], kernels["first"].shape[1]
        self.second, self.fourth = (dense(kernels[name], name=name) for name in ("second", "fourth"))
        self.third = dense(kernels["third"], relu=True, name="third")
        self.fourth_skip = dense(kernels["fourth_skip"], name="fourth_skip")
        self.projection = None if projection is None else _projection(projection, dense)

    def call(self, x: Tensor) -> Tensor:
        first, skip = x[:, : self.hidden], x[:, self.hidden :]
        hidden = keep_apart(ops.relu(skip + self.second(ops.relu(first))))
        x = ops.tanh(self.fourth_skip(hidden) + self.fourth(keep_apart(self.third(hidden))))
        return scale_to_unit(self.projection(x) if self.projection else x)


class EdgeComplement(EdgeLayer):
    """Computes x - x D U, for a projection that removes a few directions, with D `(d, r)` and U `(r, d)`."""

    def __init__(self, down: Floats, up: Floats, dense: Dense, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.down, self.up = dense(down, name="down"), dense(up, name="up")

    def call(self, x: Tensor) -> Tensor:
        return x - self.up(keep_apart(self.down(x)))


def _projection(kernel, dense):
    parts = complement(kernel)
    if parts is None:
        return dense(kernel, name="projection")
    down, up = parts
    return EdgeComplement(down, up, dense, name="projection")
