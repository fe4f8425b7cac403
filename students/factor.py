"""Factorise the table of a student: a narrow table times a projection, by the truncated SVD."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .linear import compute_leading_axes
from .rebuilding import collect_weights, rebuild
from .rows import TABLE
from .student import AnyStudent


def factorise(model: AnyStudent, rank: int, counts: ArrayLike | None = None) -> AnyStudent:
    """Return a copy of a student whose embeddings have `rank` numbers and are projected back to its `width`.

    The new table has the least squared error of all tables of that rank (Eckart and Young, 1936).

    Args:
        model: The student.
        rank: The number of columns of the new table.
        counts: A weight per embedding, `(vocabulary,)`; None for equal weights.

    Returns:
        The copy, or the model itself if its table has no more than `rank` columns.
    """
    w = collect_weights(model)
    table = w[f"{TABLE}/embeddings"]
    if rank >= table.shape[1]:
        return model
    axes = compute_leading_axes(table, rank, counts)
    factor = axes.T @ w["factor/kernel"] if model.rank else axes.T
    return rebuild(model, {"rank": rank}, {f"{TABLE}/embeddings": table @ axes, "factor/kernel": factor})
