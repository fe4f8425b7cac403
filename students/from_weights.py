"""Build a student from its weights, such as those of an exported encoder."""

from __future__ import annotations

from collections.abc import Mapping

from ..system.types import Floats
from .families import find_family, import_network, import_part
from .rows import TABLE
from .student import Student


def build_student(weights: Mapping[str, Floats], name: str) -> Student:
    """Build the student that has some weights; its family and sizes are read from them.

    A projection is taken for a learned map: the student's space is that of its vectors.

    Args:
        weights: `{path: array}`.
        name: The name of the model.

    Returns:
        The student.

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
