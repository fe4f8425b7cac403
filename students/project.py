"""Products behind an encoder: vectors on the leading axes of the teacher's space, in another's, or through any matrix.

On leading axes each prefix of a vector is the best of its length.
"""

from __future__ import annotations

import numpy as np

from ..encoders.encoder import normalise_rows
from ..system.types import Doubles, Floats
from .linear import compute_whitening, leading_axes, linear_map
from .rebuilding import rebuilt
from .student import AnyStudent, Student

# Of the mean variance of the vectors: hundreds of texts have to do for a map of hundreds of dimensions.
STRENGTH = 0.3


def projected(model: AnyStudent, vectors: Floats | None, dimension: int) -> AnyStudent:
    """Return a copy of a student with vectors on `dimension` axes, the SVD of the teacher's `vectors` `(n, d)`.

    Axes are in the order of their singular values, so that the first k numbers of a vector, at unit length, are the
    student of k dimensions: nested as in Kusupati et al. (2022), Matryoshka representation learning.
    A model that has a projection already keeps its axes, and `dimension` of them; one on all dimensions, as `folded`
    makes it, has chosen none. `vectors` may be None where the axes are there.
    """
    if model.space and model.dimension == model.space:
        kernel = model.get_layer("projection").get_weights()[0]
        axes = leading_axes(np.asarray(vectors) @ kernel, dimension)
        return rebuilt(model, {"dimension": dimension}, {"projection/kernel": kernel @ axes})
    if model.space:
        kernel = model.get_layer("projection").get_weights()[0][:, :dimension]
        return rebuilt(model, {"dimension": dimension}, {"projection/kernel": kernel})
    config = {"space": model.dimension, "dimension": dimension}
    return rebuilt(model, config, {"projection/kernel": leading_axes(np.asarray(vectors), dimension)})


def mapped(model: AnyStudent, vectors: Floats, labels: Floats) -> AnyStudent:
    """Return a copy of a student with a learned map into another encoder's space, `foreign` from then on.

    The map is the ridge regression of that encoder's `labels` `(n, m)` on the student's own `vectors` `(n, d)` of the
    same texts, without a bias, as vectors have unit length before and after. It goes on learning, and so
    `model.label_dimension` is m, also where m is d.
    """
    return _map_space(model, linear_map(vectors, labels, STRENGTH))


def folded(model: AnyStudent, matrix: Floats) -> AnyStudent:
    """Return a copy of a student whose vectors are its own times `matrix` `(d, d)`, at unit length, as its projection.

    Unit length between a projection that it has and the matrix changes no direction, so the two become one. A learned
    map that is trained on forgets the matrix: its labels are another encoder's vectors as they are.
    """
    if model.space:
        kernel = model.get_layer("projection").get_weights()[0] @ matrix
        return rebuilt(model, {}, {"projection/kernel": kernel})
    return rebuilt(model, {"space": model.dimension}, {"projection/kernel": matrix})


def whiten(model: AnyStudent, vectors: Floats, power: float) -> AnyStudent:
    """Return a copy of a student whose own `vectors` `(n, d)` are whitened, see `compute_whitening`.

    What tells texts apart may lie in directions of little energy, which a dot product hardly sees. The projection that
    does it is `foreign`: the copy's space is another one, and its labels are vectors of that.
    """
    return _map_space(model, compute_whitening(vectors, power))


def _map_space(model: AnyStudent, matrix: Doubles) -> AnyStudent:
    """Return a copy of a student with its vectors times a matrix `(d, m)`, in the `foreign` space of these."""
    space = model.space or model.dimension
    if model.space:
        matrix = model.get_layer("projection").get_weights()[0] @ matrix
    config = {"space": space, "dimension": matrix.shape[1], "foreign": True}
    return rebuilt(model, config, {"projection/kernel": matrix})


def axes_of(model: Student) -> Floats | None:
    """Return the axes of its teacher's space that a student's vectors are on, `(space, d)`; None where they are on all.

    They are on all where its projection is a map into that space, which the projection's shape does not tell.
    """
    return np.asarray(model.get_layer("projection").kernel) if model.space and not model.foreign else None


def on_axes(vectors: Floats, axes: Floats | None) -> Floats:
    """Return unit rows `(n, space)` as unit rows `(n, d)` on the `axes`; unchanged where these are None."""
    return vectors if axes is None else normalise_rows(vectors @ axes)
