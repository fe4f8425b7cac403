"""The parts of a family's folder, each imported when an export asks for it.

A folder has `edge.py`, the graph of a bundle; the other parts are there where a family has them: `onnx.py`,
`rotation.py`, `stored.py` and `stored_onnx.py`, `plain.py`, `modules.py`. docs/contributing/student.md says what each
one holds.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ...errors import ExportError
from ...settings.choices import FAMILIES


def family_part(family: str, part: str, what: str) -> ModuleType:
    """Return a module of a family's folder. Raises `ExportError` where it has none: `what` it cannot be written as."""
    if not has_part(family, part):
        raise ExportError(
            f"a student of the family {family} cannot be written as {what} yet; expected one of "
            f"{', '.join(name for name in FAMILIES if has_part(name, part))}; see docs/contributing/student.md"
        )
    return import_module(f".{family}.{part}", __package__)


def has_part(family: str, part: str) -> bool:
    """Return True where a family's folder has a module of that name."""
    return find_spec(f".{family}.{part}", __package__) is not None


def owner(part: str, owns: Callable[[ModuleType], bool]) -> ModuleType:
    """Return the module `part` of the first family whose module owns something. Raises `ExportError` for none."""
    for family in FAMILIES:
        if has_part(family, part) and owns(module := import_module(f".{family}.{part}", __package__)):
            return module
    raise ExportError("its graph is not that of a student")
