"""Remove channels, n-gram orders, convolutions and hidden units; those that count most are kept, in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...system.types import Floats, Integers
from ..building import collect_weights, rebuild
from .network import NGramEncoder


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
    """Return a copy of an n-gram encoder with only the branches of some orders.

    Raises:
        ValueError: If the encoder lacks an order.
    """
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

    Args:
        inner: The number of units of the third layer.
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
    """Return the places of the largest values, in ascending order; of ties the first.

    Args:
        values: The values `(n,)`.

    Returns:
        The places, int64 `(count,)`.
    """
    return np.sort(np.argsort(-np.asarray(values), kind="stable")[:count])
