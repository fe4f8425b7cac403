"""Find the parts of a family's folder; each is imported when an export needs it.

Every folder has `edge.py`, the graph of a bundle. The other parts exist where a family supports them: `onnx.py`,
`stored.py`, `plain.py`, `modules.py`. docs/contributing/student.md says what each
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
from ..weights.products import TABLE


def family_part(family: str, part: str, what: str, function: str = "") -> ModuleType:
    """Import a module of a family's folder. Raises `ExportError` without it, or without a function of it."""
    if not has_part(family, part, function):
        known = ", ".join(name for name in FAMILIES if has_part(name, part, function))
        raise ExportError(
            f"a student of the family {family} cannot be written as {what} yet; expected one of "
            f"{known}; see docs/contributing/student.md"
        )
    return import_module(f".{family}.{part}", __package__)


def has_part(family: str, part: str, function: str = "") -> bool:
    """Return True if a family's folder has a module, with a function in it if one is named."""
    name = f".{family}.{part}"
    there = find_spec(name, __package__) is not None
    return there and (not function or hasattr(import_module(name, __package__), function))


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
    rotates the table and the student's family has no `rotate_readers`.
    """
    if precision.stored:
        return model
    weights = {weight.path: np.asarray(weight) for weight in model.weights}
    basis = CODECS[precision.table].basis(weights[TABLE])
    if basis is None:
        return model
    part = family_part(model.family, "stored", f"a table in {precision.table}", "rotate_readers")
    changed = {name: array.astype(np.float32) for name, array in part.rotate_readers(weights, basis).items()}
    rank = {"rank": len(basis)} if FACTOR in changed else {}
    copy = type(model).from_config({**model.get_config(), **rank})
    turned = {**weights, TABLE: weights[TABLE] @ basis.astype(np.float32), **changed}
    copy.set_weights([turned[weight.path] for weight in copy.weights])
    return copy
