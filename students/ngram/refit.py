"""Cuts made good where the features are read: the pooling layer refitted to the outputs that it had before.

Least squares on a sample of texts, as He, Zhang and Sun (2017), Channel pruning, do after each pruned layer.
"""

from __future__ import annotations

import keras
import numpy as np

from ...encoders.batching import group_by_length, pad
from ...system.types import Floats, IdLists
from ..linear import RIDGE, linear_map
from .network import NGramEncoder


def refitted(model: NGramEncoder, original: NGramEncoder, rows: IdLists) -> NGramEncoder:
    """Return `model` with a pooling layer that gives each token of `rows`, id lists, nearly what `original`'s gives it.

    Both are `NGramEncoder`s of one vocabulary and one space. Changes and returns `model`.
    """
    pooling, before = model.get_layer("pooling"), original.get_layer("pooling")
    target = features(original, rows) @ np.asarray(before.dense.kernel) + np.asarray(before.bias)
    kernel, bias = ridge(features(model, rows), target)
    pooling.dense.set_weights([kernel])
    pooling.bias.assign(bias)
    return model


def features(model: NGramEncoder, rows: IdLists) -> Floats:
    """Return the joined, normalised features of all tokens of id lists, text after text in any order: `(n, w)`."""
    inner, parts = keras.Model(model.input, model.get_layer("norm").output), []
    for group in group_by_length([len(ids) for ids in rows]):
        ids = pad([rows[i] for i in group])
        parts.append(np.asarray(inner.predict_on_batch(ids))[ids >= 0])
    return np.concatenate(parts)


def ridge(x: Floats, y: Floats, strength: float = RIDGE) -> tuple[Floats, Floats]:
    """Return kernel `(in, out)` and bias `(out,)` of least |x K + b - y|^2, with a ridge.

    The ridge is `strength` of the mean variance of `x`.
    """
    x_mean, y_mean = x.mean(axis=0, dtype=np.float64), y.mean(axis=0, dtype=np.float64)
    kernel = linear_map(x - x_mean, y - y_mean, strength)
    return kernel.astype(np.float32), (y_mean - x_mean @ kernel).astype(np.float32)
