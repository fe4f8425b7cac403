"""Rebuild a student with other sizes: the weights that fit are kept, the others are given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, Json, Model
from .student import AnyStudent


def collect_weights(model: Model) -> dict[str, Floats]:
    """Return all weights of a model as `{path: array}`, such as `order_2/projection/kernel`."""
    return {weight.path: np.asarray(weight) for weight in model.weights}


def rebuild(model: AnyStudent, changes: Mapping[str, Json], weights: Mapping[str, NDArray[np.floating]]) -> AnyStudent:
    """Build a student of the same class with other sizes and weights.

    Args:
        model: The student.
        changes: Changes of its config.
        weights: New weights `{path: array}`. The others are kept.

    Returns:
        The new student.
    """
    smaller = type(model).from_config({**model.get_config(), **changes})
    former = collect_weights(model)
    smaller.set_weights([weights.get(weight.path, former.get(weight.path)) for weight in smaller.weights])
    return smaller
