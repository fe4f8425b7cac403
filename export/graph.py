"""The encoder as an artefact computes it: one text, tokens by channels, weights in the artefact's precision.

Two dimensions keep every operator in one delegate of the runtime, which is most of its speed.
"""

import keras
import numpy as np
from keras import ops

from ..students.ngram import EPSILON
from .layers import DENSE, FloatDense, Table, apart, constant
from .rewrite import balanced, merged


def edge_model(model, precision, length=None, sliced=True):
    """An `NGramEncoder` as a functional model, ids int32 `(1, t)` -> `(1, d)`, rows of unit length.

    Ids are negative where padded, after the text's. `length` fixes t; None is any. `sliced`: the padding is cut off
    in the graph and costs nothing, and an input that is kept at one length spares the runtime a new plan for every
    other length of a text. Else it is masked, so that every shape is known beforehand; then `length` is needed.
    """
    return _around(EdgeEncoder(model, precision, "sliced" if sliced else "masked", name="encoder"), length)


def edge_models(model, precision, lengths):
    """`{length: functional model}`, all with the same weights."""
    encoder = EdgeEncoder(model, precision, "masked", name="encoder")
    return {length: _around(encoder, length) for length in lengths}


def _around(encoder, length):
    ids = keras.Input(batch_shape=(1, length), dtype="int32", name="ids")
    return keras.Model(ids, encoder(ops.reshape(ids, (-1,))), name="encoder")


def unpadded(ids):
    """ids `(t,)` up to the padding."""
    return ids[: ops.sum(ops.cast(ops.greater_equal(ids, 0), "int32"))]


class EdgeEncoder(keras.layers.Layer):
    """ids `(t,)` -> `(1, d)`: what `NGramEncoder` computes, for one text; `padding` is None, masked or sliced."""

    def __init__(self, model, precision, padding=None, **kwargs):
        super().__init__(**kwargs)
        self.padding = padding
        self.table = Table(model.get_layer("embedding").get_weights()[0], precision.table, name="table")
        self.branches = [EdgeBranch(branch, precision, name=branch.name) for branch in model.branches]
        self.norm = EdgeNorm(model.get_layer("norm"), name="norm")
        head, pooling = model.get_layer("head"), model.get_layer("pooling")
        kernels = balanced({name: np.asarray(getattr(head, name).kernel) for name in head.sizes})
        products = merged(np.asarray(pooling.dense.kernel), np.asarray(pooling.bias), kernels)
        self.pooling = EdgePooling(*products, precision, name="pooling")
        self.head = EdgeHead(kernels, precision, name="head")

    def call(self, ids):
        ids = unpadded(ids) if self.padding == "sliced" else ids
        here = ops.cast(ops.greater_equal(ids, 0), "float32")
        masked = self.padding == "masked"
        keep = here[:, None] if masked else None  # (t, 1)
        x = self.table(ops.maximum(ids, 0) if masked else ids)  # (t, w)
        joined = ops.concatenate([x, *(branch(x, keep) for branch in self.branches)], axis=-1)
        # A count from the ids stays dynamic; one from the shape would be folded to the traced length.
        count = ops.sum(here, axis=0, keepdims=True)[:, None]  # (1, 1)
        return self.head(self.pooling(kept(self.norm(joined), keep), count))


class EdgeBranch(keras.layers.Layer):
    """`Branch` of one text: `(t, w)` -> `(t, c)`."""

    def __init__(self, branch, precision, **kwargs):
        super().__init__(**kwargs)
        dense = DENSE[precision.dense]
        self.order, self.norm = branch.order, EdgeNorm(branch.norm, name="norm")
        self.projection = dense(branch.projection.kernel, branch.projection.bias, name="projection")
        self.first, self.second = (
            dense(part.dense.kernel, part.dense.bias, relu=True, name=part.name)
            for part in (branch.first, branch.second)
        )

    def call(self, x, keep):
        x = kept(self.norm(self.projection(x)), keep)
        x = kept(x + self.first(windows(x, self.order)), keep)
        return x + self.second(windows(x, self.order))


class EdgeNorm(keras.layers.Layer):
    """`LayerNormalization` of rows."""

    def __init__(self, norm, **kwargs):
        super().__init__(**kwargs)
        self.gamma, self.beta = constant(self, norm.gamma), constant(self, norm.beta)

    def call(self, x):
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        return centred * ops.rsqrt(variance + EPSILON) * self.gamma + self.beta


class EdgePooling(keras.layers.Layer):
    """`Pooling` and the head's first products: features `(t, w)` and their number `(1, 1)` -> `(1, 2 h)`."""

    def __init__(self, kernel, bias, precision, **kwargs):
        super().__init__(**kwargs)
        self.dense, self.bias = DENSE[precision.dense](kernel, name="dense"), constant(self, bias)

    def call(self, features, count):
        return (self._summed(features) + count * self.bias) / ops.sqrt(count)

    def _summed(self, features):
        # The sum first is cheaper, but int8 needs each token's own range.
        if isinstance(self.dense, FloatDense):
            return self.dense(ops.sum(features, axis=0, keepdims=True))
        return ops.sum(self.dense(features), axis=0, keepdims=True)


class EdgeHead(keras.layers.Layer):
    """`Head` of one text after its first products, `(1, 2 h)` -> `(1, d)`, of its `balanced` kernels."""

    def __init__(self, kernels, precision, **kwargs):
        super().__init__(**kwargs)
        dense, self.hidden = DENSE[precision.dense], kernels["first"].shape[1]
        self.second, self.fourth = (dense(kernels[name], name=name) for name in ("second", "fourth"))
        self.third = dense(kernels["third"], relu=True, name="third")
        self.fourth_skip = dense(kernels["fourth_skip"], name="fourth_skip")

    def call(self, x):
        first, skip = x[:, : self.hidden], x[:, self.hidden :]
        hidden = apart(ops.relu(skip + self.second(ops.relu(first))))
        x = ops.tanh(self.fourth_skip(hidden) + self.fourth(apart(self.third(hidden))))
        return x / ops.sqrt(ops.maximum(ops.sum(x * x, axis=-1, keepdims=True), EPSILON))


def windows(x, order):
    """Each row with its neighbours side by side, zeros beyond the ends: `(t, c)` -> `(t, order * c)`."""
    reach = order - 1
    before = reach // 2
    padded = ops.pad(x, [[before, reach - before], [0, 0]])
    return ops.concatenate([x if i == before else padded[i : i - reach or None] for i in range(order)], axis=-1)


def kept(x, keep):
    return x if keep is None else x * keep
