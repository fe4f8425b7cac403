"""A student once more with other sizes: the weights that fit stay, others are given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, Json, Model
from .student import AnyStudent


def named(model: Model) -> dict[str, Floats]:
    """Return `{path: array}` of all weights, such as `order_2/projection/kernel`."""
    return {weight.path: np.asarray(weight) for weight in model.weights}


def rebuilt(model: AnyStudent, changes: Mapping[str, Json], weights: Mapping[str, NDArray[np.floating]]) -> AnyStudent:
    """Return a model of the same class with `changes` of its config, `weights` by path, and the rest of its own."""
    smaller = type(model).from_config({**model.get_config(), **changes})
    former = named(model)
    smaller.set_weights([weights.get(weight.path, former.get(weight.path)) for weight in smaller.weights])
    return smaller
