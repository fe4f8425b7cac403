"""Families of networks by name: `choices.FAMILIES` names folders beside this file, each with the parts that it needs.

A folder has `network.py`, whose class is its `NETWORK`; `weights.py`, which says which weights are its own and what
sizes they have; and, where a student of it can be cut, `cutting.py`. The folder of the same name in `export/families/`
ships it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from ..settings.choices import FAMILIES
from ..system.types import Floats

if TYPE_CHECKING:
    from .student import Student


def family_part(family: str, part: str) -> ModuleType:
    """Return a module of a family's folder, such as `network`."""
    return import_module(f".{family}.{part}", __package__)


def has_part(family: str, part: str) -> bool:
    """Return True where a family's folder has a module of that name."""
    return find_spec(f".{family}.{part}", __package__) is not None


def network_of(family: str) -> type[Student]:
    """Return the class of a family's students."""
    return family_part(family, "network").NETWORK


def register_networks() -> None:
    """Import every family's class, so that Keras loads what is saved of it."""
    for family in FAMILIES:
        network_of(family)


def owner_of(weights: Mapping[str, Floats]) -> str:
    """Return the family of weights `{path: array}`. Raises `KeyError` for those of none."""
    for family in FAMILIES:
        if family_part(family, "weights").owns(weights):
            return family
    raise KeyError(f"these weights are those of no family ({', '.join(FAMILIES)}): {', '.join(sorted(weights))}")
