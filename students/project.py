"""Fewer output numbers: vectors on the leading axes of the teacher's space, each prefix the best of its length."""

from .factor import leading_axes
from .rebuild import rebuilt


def projected(model, vectors, dimension):
    """A copy of a student whose vectors are its own on `dimension` axes, the SVD of the teacher's `vectors` `(n, d)`.

    Axes are in the order of their singular values, so that the first k numbers of a vector, at unit length, are the
    student of k dimensions: nested as in Kusupati et al. (2022), Matryoshka representation learning.
    A model that has a projection already keeps its axes, and `dimension` of them.
    """
    if model.space:
        kernel = model.get_layer("projection").get_weights()[0][:, :dimension]
        return rebuilt(model, {"dimension": dimension}, {"projection/kernel": kernel})
    config = {"space": model.dimension, "dimension": dimension}
    return rebuilt(model, config, {"projection/kernel": leading_axes(vectors, dimension)})
