"""A factorised table: a small table times a projection, from the truncated SVD of the table that was."""

import numpy as np

from .rows import TABLE


def factorised(model, rank, counts=None):
    """A copy of an `NGramEncoder` with rows of `rank` numbers and a product back to its `width`.

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


def leading_axes(table, rank, counts=None):
    """The `rank` leading right singular vectors of `(rows, w)`, float64 `(w, rank)`, longest first."""
    table = np.asarray(table, dtype=np.float64)
    weighted = table if counts is None else table * np.asarray(counts, dtype=np.float64)[:, None]
    _, vectors = np.linalg.eigh(table.T @ weighted)
    return vectors[:, ::-1][:, :rank]


def named(model):
    """`{path: array}` of all weights, such as `order_2/projection/kernel`."""
    return {weight.path: np.asarray(weight) for weight in model.weights}


def rebuilt(model, changes, weights):
    """A model of the same class with `changes` of its config, `weights` by path, and the rest of its own."""
    smaller = type(model).from_config({**model.get_config(), **changes})
    own = named(model)
    smaller.set_weights([weights.get(weight.path, own.get(weight.path)) for weight in smaller.weights])
    return smaller
