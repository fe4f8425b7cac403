"""Other weights for the same function: fewer to read a text, and on a grid of int8 nearer to the trained ones.

A short text's time is that of reading the dense kernels, so what is linear twice is multiplied out here. NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...system.types import Floats, Model

FARTHEST = 8
# A direction shorter than this is float32's rounding.
NOTHING = 1e-4


def balanced(kernels: Mapping[str, Floats]) -> dict[str, Floats]:
    """The head's kernels, `{name: (in, out)}`, with its hidden units rescaled.

    max(0, a x) = a max(0, x) for a > 0: a unit's incoming columns times a, its outgoing rows through a. With a the
    root of its largest outgoing weight, the rows of `fourth_skip`, whose outliers one int8 step a column serves badly,
    come nearer to each other, at the cost of the range of the hidden values. `a` stays within `FARTHEST` of its median,
    so that a unit which `fourth_skip` hardly reads does not blow up what `third` reads of it.
    """
    scale = np.sqrt(np.abs(kernels["fourth_skip"]).max(axis=1))
    scale = np.clip(scale / max(np.median(scale), 1e-12), 1 / FARTHEST, FARTHEST).astype(np.float32)
    columns = {name: kernels[name] * scale for name in ("second", "second_skip")}
    rows = {name: kernels[name] / scale[:, None] for name in ("third", "fourth_skip")}
    return {**kernels, **columns, **rows}


def merged(dense: Floats, bias: Floats, kernels: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Pooling's dense layer `(w, d)`, `(d,)` and the head's first products as one: `(w, 2 h)`, `(2 h,)`.

    Nothing else reads what is between them: first `h` columns the input of `first`'s ReLU, then `second_skip`'s.
    """
    following = np.concatenate([kernels["first"], kernels["second_skip"]], axis=1, dtype=np.float64)
    return (dense @ following).astype(np.float32), (bias @ following).astype(np.float32)


def factor_of(model: Model) -> Floats | None:
    """The kernel `(rank, w)` behind a factorised table, None where it is not."""
    return np.asarray(model.get_layer("factor").kernel) if model.rank else None


def projection_of(model: Model) -> Floats | None:
    """The kernel `(space, d)` of a student's `Projection`, None where it has none."""
    return np.asarray(model.get_layer("projection").kernel) if model.space else None


def complement(kernel: Floats) -> tuple[Floats, Floats] | None:
    """`down (d, r)` and `up (r, d)` of a kernel I - down @ up, None where that is no shorter.

    A kernel that takes a few directions off is nearly the identity: on a grid whose step is a 127th of its diagonal
    most of the rest would be zero.
    """
    if kernel.shape[0] != kernel.shape[1]:
        return None
    left, lengths, up = np.linalg.svd(np.eye(len(kernel)) - kernel)
    rank = int(np.sum(lengths > NOTHING))
    if not 0 < 2 * rank < len(kernel):
        return None
    return (left[:, :rank] * lengths[:rank]).astype(np.float32), up[:rank].astype(np.float32)


def lifted(model: Model) -> Floats:
    """A `StaticEncoder`'s last product with its projection, if it has one, multiplied in: `(w, d)`.

    Unit length in between changes no direction.
    """
    lift, projection = np.asarray(model.get_layer("residual").lift.kernel), projection_of(model)
    return lift if projection is None else lift @ projection
