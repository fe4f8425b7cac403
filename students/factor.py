"""A factorised table: a small table times a projection, from the truncated SVD of the table that was."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system.types import Doubles, Floats, Json, Model
from .ngram import NGramEncoder
from .rows import TABLE
from .student import AnyStudent


def factorised(model: NGramEncoder, rank: int, counts: ArrayLike | None = None) -> NGramEncoder:
    """Return a copy of an `NGramEncoder` with rows of `rank` numbers and a product back to its `width`.

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


def leading_axes(table: ArrayLike, rank: int, counts: ArrayLike | None = None) -> Doubles:
    """Return the `rank` leading right singular vectors of `(rows, w)`, float64 `(w, rank)`, longest first."""
    table = np.asarray(table, dtype=np.float64)
    weighted = table if counts is None else table * np.asarray(counts, dtype=np.float64)[:, None]
    _, vectors = np.linalg.eigh(table.T @ weighted)
    return vectors[:, ::-1][:, :rank]


def named(model: Model) -> dict[str, Floats]:
    """Return `{path: array}` of all weights, such as `order_2/projection/kernel`."""
    return {weight.path: np.asarray(weight) for weight in model.weights}


def rebuilt(model: AnyStudent, changes: Mapping[str, Json], weights: Mapping[str, NDArray[np.floating]]) -> AnyStudent:
    """Return a model of the same class with `changes` of its config, `weights` by path, and the rest of its own."""
    smaller = type(model).from_config({**model.get_config(), **changes})
    former = named(model)
    smaller.set_weights([weights.get(weight.path, former.get(weight.path)) for weight in smaller.weights])
    return smaller
