"""Families of networks by name: `choices.FAMILIES` names the folders beside this file.

Each folder has `network.py`, whose class is `NETWORK`, and `weights.py`, which recognises the family's weights and
reads their sizes. If a student of the family can be cut, there is also `cutting.py`. The folder of the same name in
`export/families/` exports the students. Settings of a student that its arrays do not show, such as its number of heads,
are stored as one more array.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..settings.choices import FAMILIES
from ..system.types import Floats, Json

if TYPE_CHECKING:
    from .student import Student

# The key of the settings among the weights of a student.
SETTINGS = "settings"


def import_part(family: str, part: str) -> ModuleType:
    """Import a module of a family's folder. `part` is the name of the module, such as `network`."""
    return import_module(f".{family}.{part}", __package__)


def has_part(family: str, part: str) -> bool:
    """Check whether a family's folder has a module of a name."""
    return find_spec(f".{family}.{part}", __package__) is not None


def import_network(family: str) -> type[Student]:
    """Return the class of a family's students."""
    return import_part(family, "network").NETWORK


def register_networks() -> None:
    """Import the class of every family, so that Keras can load saved students."""
    for family in FAMILIES:
        import_network(family)


def find_family(weights: Mapping[str, Floats]) -> str:
    """Return the family that weights `{path: array}` belong to. Raises `KeyError` if there is none."""
    for family in FAMILIES:
        if import_part(family, "weights").owns(weights):
            return family
    raise KeyError(f"these weights are those of no family ({', '.join(FAMILIES)}): {', '.join(sorted(weights))}")


def settings_as_array(settings: Mapping[str, Json]) -> Floats:
    """Store settings as an array: the bytes of their JSON, one number per byte."""
    return np.frombuffer(json.dumps(dict(settings)).encode(), np.uint8).astype(np.float32)


def read_settings(weights: Mapping[str, Floats]) -> dict[str, Json]:
    """Read the settings from weights by path; raise `KeyError` without them, and `ValueError` if they are broken."""
    settings = json.loads(weights[SETTINGS].astype(np.uint8).tobytes())
    if not isinstance(settings, dict):
        raise ValueError(f"expected settings by name, got {type(settings).__name__}")
    return settings
