"""A factorised table: a small table times a projection, from the truncated SVD of the table that was."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .linear import leading_axes
from .rebuilding import named, rebuilt
from .rows import TABLE
from .student import AnyStudent


def factorised(model: AnyStudent, rank: int, counts: ArrayLike | None = None) -> AnyStudent:
    """Return a copy of a student with rows of `rank` numbers and a product back to its `width`.

    The model itself where its rows have no more. `counts` `(vocabulary,)` weigh the rows; None for all alike. The least
    squared error of all tables of that rank (Eckart and Young, 1936).
    """
    w = named(model)
    table = w[f"{TABLE}/embeddings"]
    if rank >= table.shape[1]:
        return model
    axes = leading_axes(table, rank, counts)
    factor = axes.T @ w["factor/kernel"] if model.rank else axes.T
    return rebuilt(model, {"rank": rank}, {f"{TABLE}/embeddings": table @ axes, "factor/kernel": factor})
