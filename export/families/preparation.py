"""Prepare a student for a codec by rotating its embedding table, without changing its function."""

from __future__ import annotations

import numpy as np

from ...system.types import Model
from ..weights.codecs import CODECS
from ..weights.precision import Precision
from ..weights.rotation import TABLE
from .registry import family_part

FACTOR = "factor/kernel"


def prepare_table(model: Model, precision: Precision) -> Model:
    """Return a student that computes the same, with the table that its codec stores best.

    If the family adds a factor behind the rotated table, the copy has its `rank`.

    Raises:
        ExportError: If the codec rotates the table and the student's family has no `rotation`.
    """
    if precision.stored:
        return model
    weights = {weight.path: np.asarray(weight) for weight in model.weights}
    basis = CODECS[precision.table].basis(weights[TABLE])
    if basis is None:
        return model
    part = family_part(model.family, "rotation", f"a table in {precision.table}")
    changed = {name: array.astype(np.float32) for name, array in part.rotate_readers(weights, basis).items()}
    rank = {"rank": len(basis)} if FACTOR in changed else {}
    copy = type(model).from_config({**model.get_config(), **rank})
    turned = {**weights, TABLE: weights[TABLE] @ basis.astype(np.float32), **changed}
    copy.set_weights([turned[weight.path] for weight in copy.weights])
    return copy
