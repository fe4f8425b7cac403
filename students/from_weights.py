"""A student of given weights, such as those of an exported encoder: its sizes are those of the arrays."""

from __future__ import annotations

from collections.abc import Mapping

from ..system.types import Floats
from .families import family_part, network_of, owner_of
from .rows import TABLE
from .student import Student


def from_weights(weights: Mapping[str, Floats], name: str) -> Student:
    """Return the student whose weights are `{path: array}`, of the family and the sizes that these say.

    A projection in them counts as a learned map: the student's space is that of its vectors. Raises `ValueError` for
    arrays that do not fit together, and `KeyError` for one that is missing.
    """
    family = owner_of(weights)
    part = family_part(family, "weights")
    weights = part.trainable_weights(weights)
    model = network_of(family)(**part.sizes_of(weights), vocabulary=len(weights[f"{TABLE}/embeddings"]), name=name)
    model.set_weights([weights[weight.path] for weight in model.weights])
    return model
