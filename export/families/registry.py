"""Find the parts of a family's folder; each is imported when an export needs it.

Every folder has `edge.py`, the graph of a bundle. The other parts exist where a family supports them: `onnx.py`,
`rotation.py`, `stored.py`, `plain.py`, `modules.py`. docs/contributing/student.md says what each
one holds.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from ...errors import ExportError
from ...settings.choices import FAMILIES
from ...system.types import Model
from ..weights.codecs import CODECS
from ..weights.precision import Precision
from ..weights.rotation import TABLE


def family_part(family: str, part: str, what: str) -> ModuleType:
    """Import a module of a family's folder. Raises `ExportError` if the family has no such module."""
    if not has_part(family, part):
        raise ExportError(
            f"a student of the family {family} cannot be written as {what} yet; expected one of "
            f"{', '.join(name for name in FAMILIES if has_part(name, part))}; see docs/contributing/student.md"
        )
    return import_module(f".{family}.{part}", __package__)


def has_part(family: str, part: str) -> bool:
    """Return True if a family's folder has a module."""
    return find_spec(f".{family}.{part}", __package__) is not None


def find_owner(part: str, owns: Callable[[ModuleType], bool]) -> ModuleType:
    """Find the first family with a module that recognises something as its own."""
    for family in FAMILIES:
        if has_part(family, part) and owns(module := import_module(f".{family}.{part}", __package__)):
            return module
    raise ExportError("its graph is not that of a student")


FACTOR = "factor/kernel"


def prepare_table(model: Model, precision: Precision) -> Model:
    """Return a student that computes the same, with the table that its codec stores best.

    If the family adds a factor behind the rotated table, the copy has its `rank`. Raises `ExportError` if the codec
    rotates the table and the student's family has no `rotation`.
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
