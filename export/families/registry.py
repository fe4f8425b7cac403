"""Find the parts of a family's folder; each is imported when an export needs it.

Every folder has `edge.py`, the graph of a bundle. The other parts exist where a family supports them: `onnx.py`,
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
    """Import a module of a family's folder.

    Args:
        what: What the module writes a student as, for the error.

    Raises:
        ExportError: If the family has no such module.
    """
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
    """Find the first family with a module that recognises something as its own.

    Raises:
        ExportError: If there is none.
    """
    for family in FAMILIES:
        if has_part(family, part) and owns(module := import_module(f".{family}.{part}", __package__)):
            return module
    raise ExportError("its graph is not that of a student")
