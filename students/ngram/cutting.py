"""Cut an n-gram encoder: the parts that count most are kept, and the layer that reads them is refitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import keras
import numpy as np

from ...encoders.batching import group_by_length, pad
from ...system.types import Floats, IdLists, Integers
from ..linear import RIDGE, fit_linear_map
from ..project import collect_weights, factorise, rebuild
from .network import NGramEncoder

if TYPE_CHECKING:
    from ..shape import Shape


def select_channels(model: NGramEncoder, channels: int) -> NGramEncoder:
    """Return a copy of an n-gram encoder with fewer channels per branch.

    A channel is kept by how much the pooling layer reads of it: its LayerNorm gain times the length of its row.
    """
    if channels == model.channels:
        return model
    w, new, joined = collect_weights(model), {}, [np.arange(model.width)]
    lengths = np.abs(w["norm/gamma"]) * np.linalg.norm(w["pooling/dense/kernel"], axis=1)
    for place, order in enumerate(model.orders):
        first = model.width + place * model.channels
        kept = find_largest(lengths[first : first + model.channels], channels)
        joined.append(first + kept)
        new |= _cut_branch(w, f"order_{order}", order, kept)
    return rebuild(model, {"channels": channels}, new | _select_joined(w, np.concatenate(joined)))


def _cut_branch(w, name, order, kept):
    new = {f"{name}/projection/kernel": w[f"{name}/projection/kernel"][:, kept]}
    for vector in ("projection/bias", "norm/gamma", "norm/beta", "first/dense/bias", "second/dense/bias"):
        if f"{name}/{vector}" in w:
            new[f"{name}/{vector}"] = w[f"{name}/{vector}"][kept]
    for part in ("first", "second"):
        if (path := f"{name}/{part}/dense/kernel") in w:
            channels = w[path].shape[1]
            windows = np.concatenate([place * channels + kept for place in range(order)])
            new[path] = w[path][windows][:, kept]
    return new


def _select_joined(w, kept):
    """Return the weights that read the joined features, for the kept ones."""
    return {path: w[path][kept] for path in ("norm/gamma", "norm/beta", "pooling/dense/kernel")}


def select_orders(model: NGramEncoder, orders: Sequence[int]) -> NGramEncoder:
    """Return a copy of an n-gram encoder with only the branches of some orders."""
    orders = tuple(orders)
    if orders == model.orders:
        return model
    starts = [model.width + model.orders.index(order) * model.channels for order in orders]
    kept = np.concatenate([np.arange(model.width), *(start + np.arange(model.channels) for start in starts)])
    return rebuild(model, {"orders": orders}, _select_joined(collect_weights(model), kept))


def keep_first_convolutions(model: NGramEncoder) -> NGramEncoder:
    """Return a copy of an n-gram encoder with only the first convolution of each branch; itself if it has one."""
    return model if model.convolutions == 1 else rebuild(model, {"convolutions": 1}, {})


def shrink_head(model: NGramEncoder, hidden: int, inner: int) -> NGramEncoder:
    """Return a copy of an n-gram encoder with fewer hidden units in the head.

    A unit is kept by the size of its inputs times that of its outputs.
    """
    head = model.get_layer("head")
    w = {name: np.asarray(getattr(head, name).kernel) for name in head.sizes}
    if hidden == w["second"].shape[1] and inner == w["third"].shape[1]:
        return model
    first = find_largest(_measure_units(w["first"], w["second"]), hidden)
    read = np.concatenate([w["third"], w["fourth_skip"]], axis=1)
    second = find_largest(_measure_units(np.concatenate([w["second"], w["second_skip"]]), read), hidden)
    third = find_largest(_measure_units(w["third"], w["fourth"]), inner)
    new = {
        "first": w["first"][:, first],
        "second": w["second"][first][:, second],
        "second_skip": w["second_skip"][:, second],
        "third": w["third"][second][:, third],
        "fourth": w["fourth"][third],
        "fourth_skip": w["fourth_skip"][second],
    }
    kernels = {f"head/{name}/kernel": kernel for name, kernel in new.items()}
    return rebuild(model, {"hidden": hidden, "inner": inner}, kernels)


def _measure_units(incoming, outgoing):
    return np.linalg.norm(incoming, axis=0) * np.linalg.norm(outgoing, axis=1)


def find_largest(values: Floats, count: int) -> Integers:
    """Return the places of the largest values, in ascending order; of ties the first."""
    return np.sort(np.argsort(-np.asarray(values), kind="stable")[:count])


def refit_pooling(model: NGramEncoder, original: NGramEncoder, rows: IdLists) -> NGramEncoder:
    """Fit the pooling of a cut encoder, in place, so that each token gets nearly the output of the original."""
    pooling, before = model.get_layer("pooling"), original.get_layer("pooling")
    target = compute_features(original, rows) @ np.asarray(before.dense.kernel) + np.asarray(before.bias)
    kernel, bias = fit_ridge(compute_features(model, rows), target)
    pooling.dense.set_weights([kernel])
    pooling.bias.assign(bias)
    return model


def compute_features(model: NGramEncoder, rows: IdLists) -> Floats:
    """Compute the joined and normalised features `(n, w)` of all tokens of some texts, in any order of texts."""
    inner, parts = keras.Model(model.input, model.get_layer("norm").output), []
    for group in group_by_length([len(ids) for ids in rows]):
        ids = pad([rows[i] for i in group])
        parts.append(np.asarray(inner.predict_on_batch(ids))[ids >= 0])
    return np.concatenate(parts)


def fit_ridge(x: Floats, y: Floats, strength: float = RIDGE) -> tuple[Floats, Floats]:
    """Compute the kernel K and bias b of least |x K + b - y|^2, with a ridge relative to the mean variance of `x`."""
    x_mean, y_mean = x.mean(axis=0, dtype=np.float64), y.mean(axis=0, dtype=np.float64)
    kernel = fit_linear_map(x - x_mean, y - y_mean, strength)
    return kernel.astype(np.float32), (y_mean - x_mean @ kernel).astype(np.float32)


# The approximate maximum number of texts on which the pooling layer is refitted.
SAMPLE = 4096


def limits_of(model: NGramEncoder) -> dict[str, int]:
    """Return the largest sizes that a cut of the encoder can have."""
    inner = model.get_layer("head").inner
    sizes = {"channels": model.channels, "convolutions": model.convolutions, "hidden": model.hidden, "inner": inner}
    return {"rank": model.rank or model.width, **sizes, "dimension": model.dimension}


def cut(model: NGramEncoder, shape: Shape, rows: IdLists) -> NGramEncoder:
    """Cut an encoder to a shape, except for its `dimension`; if features are cut, it is refitted on the texts."""
    most = limits_of(model)
    smaller = factorise(model, shape.rank or most["rank"])
    smaller = select_orders(smaller, shape.orders or model.orders)
    smaller = select_channels(smaller, shape.channels or model.channels)
    smaller = keep_first_convolutions(smaller) if shape.convolutions == 1 else smaller
    if smaller is not model:
        smaller = refit_pooling(smaller, model, rows[:: max(1, len(rows) // SAMPLE)])
    return shrink_head(smaller, shape.hidden or model.hidden, shape.inner or most["inner"])
