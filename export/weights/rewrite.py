"""Rewrite weights such that they compute the same function with less to read, or lose less when rounded to int8.

Most of the time for a short text is spent on reading the dense kernels, so consecutive linear layers are multiplied
into one here. NumPy only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...system.types import Floats, Model

FARTHEST = 8
# A shorter direction is a rounding error of float32.
NOTHING = 1e-4


def balance(kernels: Mapping[str, Floats]) -> dict[str, Floats]:
    """Rescale the hidden units of the head, which does not change its function.

    max(0, a x) = a max(0, x) for a > 0, so the incoming columns of a unit can be multiplied by a and its outgoing rows
    divided by a. With a as the root of the unit's largest outgoing weight, the rows of `fourth_skip`, whose outliers
    make one int8 step per column too coarse, get closer to each other, at the cost of a larger range of the hidden
    values. `a` stays within a factor of `FARTHEST` of its median, so that a unit which `fourth_skip` hardly reads does
    not inflate the inputs of `third`. `kernels` are the kernels `(in, out)` of the head, by name.
    """
    scale = np.sqrt(np.abs(kernels["fourth_skip"]).max(axis=1))
    scale = np.clip(scale / max(np.median(scale), 1e-12), 1 / FARTHEST, FARTHEST).astype(np.float32)
    columns = {name: kernels[name] * scale for name in ("second", "second_skip")}
    rows = {name: kernels[name] / scale[:, None] for name in ("third", "fourth_skip")}
    return {**kernels, **columns, **rows}


def merge(dense: Floats, bias: Floats, kernels: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Merge pooling's dense layer, `(w, d)` and `(d,)`, and the head's first products into one layer.

    Nothing else reads what is between them. Returns the kernel `(w, 2 h)` and the bias `(2 h,)`: first the input of
    `first`'s ReLU, then the output of `second_skip`.
    """
    following = np.concatenate([kernels["first"], kernels["second_skip"]], axis=1, dtype=np.float64)
    return (dense @ following).astype(np.float32), (bias @ following).astype(np.float32)


def factor_of(model: Model) -> Floats | None:
    """Return the kernel `(rank, w)` behind a factorised embedding table, or None if the table is not factorised."""
    return np.asarray(model.get_layer("factor").kernel) if model.rank else None


def projection_of(model: Model) -> Floats | None:
    """Return the kernel `(space, d)` of a student's `Projection`, or None if it has none."""
    return np.asarray(model.get_layer("projection").kernel) if model.space else None


def complement(kernel: Floats) -> tuple[Floats, Floats] | None:
    """Write a kernel as I - down @ up, with `down` `(d, r)` and `up` `(r, d)`, or return None if that is not smaller.

    A kernel that removes a few directions is nearly the identity: on a grid whose step is a 127th of its diagonal most
    of its other numbers would become zero.
    """
    if kernel.shape[0] != kernel.shape[1]:
        return None
    left, lengths, up = np.linalg.svd(np.eye(len(kernel)) - kernel)
    rank = int(np.sum(lengths > NOTHING))
    if not 0 < 2 * rank < len(kernel):
        return None
    return (left[:, :rank] * lengths[:rank]).astype(np.float32), up[:rank].astype(np.float32)


def merge_projection(model: Model) -> Floats:
    """Return the last kernel of a `StaticEncoder`, multiplied by its projection if it has one, `(w, d)`."""
    lift, projection = np.asarray(model.get_layer("residual").lift.kernel), projection_of(model)
    return lift if projection is None else lift @ projection
