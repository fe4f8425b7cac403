"""Refit the pooling layer of a cut encoder to the outputs that it had before.

It is fitted by least squares on a sample of texts, as He, Zhang and Sun (2017), Channel pruning, do after each pruned
layer.
"""

from __future__ import annotations

import keras
import numpy as np

from ...encoders.batching import group_by_length, pad
from ...system.types import Floats, IdLists
from ..linear import RIDGE, fit_linear_map
from .network import NGramEncoder


def refit_pooling(model: NGramEncoder, original: NGramEncoder, rows: IdLists) -> NGramEncoder:
    """Fit the pooling layer of a cut encoder, in place, so that each token gets nearly the output of the original.

    Both encoders have the same vocabulary and the same space.
    """
    pooling, before = model.get_layer("pooling"), original.get_layer("pooling")
    target = compute_features(original, rows) @ np.asarray(before.dense.kernel) + np.asarray(before.bias)
    kernel, bias = fit_ridge(compute_features(model, rows), target)
    pooling.dense.set_weights([kernel])
    pooling.bias.assign(bias)
    return model


def compute_features(model: NGramEncoder, rows: IdLists) -> Floats:
    """Compute the joined and normalised features of all tokens of some texts.

    Returns:
        The features `(n, w)`, text by text, but in any order of texts.
    """
    inner, parts = keras.Model(model.input, model.get_layer("norm").output), []
    for group in group_by_length([len(ids) for ids in rows]):
        ids = pad([rows[i] for i in group])
        parts.append(np.asarray(inner.predict_on_batch(ids))[ids >= 0])
    return np.concatenate(parts)


def fit_ridge(x: Floats, y: Floats, strength: float = RIDGE) -> tuple[Floats, Floats]:
    """Compute the kernel K and bias b of least |x K + b - y|^2 by ridge regression.

    Args:
        x: The inputs `(n, in)`.
        y: The outputs `(n, out)`.
        strength: The ridge, as a share of the mean variance of `x`.

    Returns:
        The kernel `(in, out)` and the bias `(out,)`.
    """
    x_mean, y_mean = x.mean(axis=0, dtype=np.float64), y.mean(axis=0, dtype=np.float64)
    kernel = fit_linear_map(x - x_mean, y - y_mean, strength)
    return kernel.astype(np.float32), (y_mean - x_mean @ kernel).astype(np.float32)
