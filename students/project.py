"""Project the vectors of a student: onto the leading axes of the teacher's space, into another space, or by a matrix.

On leading axes each prefix of a vector is the best one of its length.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..encoders.encoder import normalise_rows
from ..system.types import Doubles, Floats, Json, Model
from .embeddings import TABLE
from .families import find_family, import_network, import_part
from .linear import compute_leading_axes, compute_whitening, fit_linear_map
from .student import AnyStudent, Student


def build_student(weights: Mapping[str, Floats], name: str) -> Student:
    """Build the student that has some weights; its family and sizes are read from them.

    A projection is taken for a learned map: the student's space is that of its vectors. `weights` is `{path: array}`.
    Raises `ValueError` if the arrays do not fit together and `KeyError` if an array is missing.
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
    """Build a student of the same class with other sizes; `weights`, by path, replace those that it has."""
    smaller = type(model).from_config({**model.get_config(), **changes})
    former = collect_weights(model)
    smaller.set_weights([weights.get(weight.path, former.get(weight.path)) for weight in smaller.weights])
    return smaller


def factorise(model: AnyStudent, rank: int, counts: ArrayLike | None = None) -> AnyStudent:
    """Return a copy of a student whose embeddings have `rank` numbers and are projected back to its `width`.

    The new table has the least squared error of all tables of that rank (Eckart and Young, 1936). `counts` is a weight
    per embedding; None for equal weights. A table with no more columns stays as it is.
    """
    w = collect_weights(model)
    table = w[f"{TABLE}/embeddings"]
    if rank >= table.shape[1]:
        return model
    axes = compute_leading_axes(table, rank, counts)
    factor = axes.T @ w["factor/kernel"] if model.rank else axes.T
    return rebuild(model, {"rank": rank}, {f"{TABLE}/embeddings": table @ axes, "factor/kernel": factor})


# The ridge as a share of the vectors' mean square: hundreds of texts have to suffice for hundreds of dimensions.
STRENGTH = 0.3


def project_student(model: AnyStudent, vectors: Floats | None, dimension: int) -> AnyStudent:
    """Return a copy of a student whose vectors are projected onto the leading axes of the teacher's space.

    The axes are in the order of their singular values, so that the first k numbers of a vector, scaled to unit length,
    are a student of k dimensions: nested as in Kusupati et al. (2022), Matryoshka representation learning.

    A model that already has a projection onto axes keeps the first `dimension` of them. For a projection onto all
    dimensions, as `fold_matrix` makes it, axes are computed. `vectors` are the teacher's vectors `(n, d)`, whose SVD
    gives the axes; may be None for a model that has axes.
    """
    if model.space and model.dimension == model.space:
        kernel = model.get_layer("projection").get_weights()[0]
        axes = compute_leading_axes(np.asarray(vectors) @ kernel, dimension)
        return rebuild(model, {"dimension": dimension}, {"projection/kernel": kernel @ axes})
    if model.space:
        kernel = model.get_layer("projection").get_weights()[0][:, :dimension]
        return rebuild(model, {"dimension": dimension}, {"projection/kernel": kernel})
    config = {"space": model.dimension, "dimension": dimension}
    return rebuild(model, config, {"projection/kernel": compute_leading_axes(np.asarray(vectors), dimension)})


def map_space(model: AnyStudent, vectors: Floats, labels: Floats) -> AnyStudent:
    """Return a copy of a student with a learned map into another encoder's space. The copy is `foreign`.

    The map is the ridge regression of the labels on the student's vectors, without a bias, as vectors have unit length
    before and after it. It goes on learning, so `model.label_dimension` is m, even if m = d. `vectors` are the
    student's vectors of some texts `(n, d)`. `labels` are the other encoder's vectors of the same texts `(n, m)`.
    """
    return _map_space(model, fit_linear_map(vectors, labels, STRENGTH))


def fold_matrix(model: AnyStudent, matrix: Floats) -> AnyStudent:
    """Return a copy of a student whose vectors are multiplied by a matrix, which becomes its projection.

    The vectors are scaled to unit length. If the student has a projection, it is multiplied by the matrix: scaling to
    unit length between the two changes no direction. If training goes on with a learned map, the matrix is forgotten,
    since the labels are the other encoder's vectors as they are. `matrix` is `(d, d)`.
    """
    if model.space:
        kernel = model.get_layer("projection").get_weights()[0] @ matrix
        return rebuild(model, {}, {"projection/kernel": kernel})
    return rebuild(model, {"space": model.dimension}, {"projection/kernel": matrix})


def whiten(model: AnyStudent, vectors: Floats, power: float) -> AnyStudent:
    """Return a copy of a student whose vectors are whitened by `compute_whitening`.

    Differences between texts may lie in directions of little energy, which hardly change a dot product. The projection
    is `foreign`: the copy's space is a new one, and its labels are vectors of that space.
    """
    return _map_space(model, compute_whitening(vectors, power))


def _map_space(model: AnyStudent, matrix: Doubles) -> AnyStudent:
    """Return a copy of a student whose vectors are multiplied by a matrix `(d, m)` into a `foreign` space."""
    space = model.space or model.dimension
    if model.space:
        matrix = model.get_layer("projection").get_weights()[0] @ matrix
    config = {"space": space, "dimension": matrix.shape[1], "foreign": True}
    return rebuild(model, config, {"projection/kernel": matrix})


def find_axes(model: Student) -> Floats | None:
    """Return the axes of the teacher's space that a student's vectors are on, `(space, d)`, or None for all axes.

    None is also returned for a map into that space, which the shape of a projection does not tell from axes.
    """
    return np.asarray(model.get_layer("projection").kernel) if model.space and not model.foreign else None


def on_axes(vectors: Floats, axes: Floats | None) -> Floats:
    """Project unit vectors `(n, space)` onto axes `(space, d)` and scale them; without axes they stay as they are."""
    return vectors if axes is None else normalise_rows(vectors @ axes)
