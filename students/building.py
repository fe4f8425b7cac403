"""Build a student from weights: those of an exported encoder, or those of another student, cut or factorised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system.types import Floats, Json, Model
from .embeddings import TABLE
from .families import find_family, import_network, import_part
from .linear import compute_leading_axes
from .student import AnyStudent, Student


def build_student(weights: Mapping[str, Floats], name: str) -> Student:
    """Build the student that has some weights; its family and sizes are read from them.

    A projection is taken for a learned map: the student's space is that of its vectors.

    Args:
        weights: `{path: array}`.

    Raises:
        ValueError: If the arrays do not fit together.
        KeyError: If an array is missing.
    """
    family = find_family(weights)
    part = import_part(family, "weights")
    weights = part.trainable_weights(weights)
    model = import_network(family)(**part.sizes_of(weights), vocabulary=len(weights[f"{TABLE}/embeddings"]), name=name)
    model.set_weights([weights[weight.path] for weight in model.weights])
    return model


def collect_weights(model: Model) -> dict[str, Floats]:
    """Return all weights of a model as `{path: array}`, such as `order_2/projection/kernel`."""
    return {weight.path: np.asarray(weight) for weight in model.weights}


def rebuild(model: AnyStudent, changes: Mapping[str, Json], weights: Mapping[str, NDArray[np.floating]]) -> AnyStudent:
    """Build a student of the same class with other sizes and weights.

    Args:
        weights: New weights `{path: array}`. The others are kept.
    """
    smaller = type(model).from_config({**model.get_config(), **changes})
    former = collect_weights(model)
    smaller.set_weights([weights.get(weight.path, former.get(weight.path)) for weight in smaller.weights])
    return smaller


def factorise(model: AnyStudent, rank: int, counts: ArrayLike | None = None) -> AnyStudent:
    """Return a copy of a student whose embeddings have `rank` numbers and are projected back to its `width`.

    The new table has the least squared error of all tables of that rank (Eckart and Young, 1936).

    Args:
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
