"""Settings of a student that its arrays do not show, such as its number of heads, stored as one more array."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from ..system.types import Floats, Json

SETTINGS = "settings"


def settings_as_array(settings: Mapping[str, Json]) -> Floats:
    """Store settings as an array: the bytes of their JSON, one number per byte."""
    return np.frombuffer(json.dumps(dict(settings)).encode(), np.uint8).astype(np.float32)


def read_settings(weights: Mapping[str, Floats]) -> dict[str, Json]:
    """Read the settings from weights `{path: array}`.

    Raises `KeyError` if there are none, `ValueError` if they are broken.
    """
    settings = json.loads(weights[SETTINGS].astype(np.uint8).tobytes())
    if not isinstance(settings, dict):
        raise ValueError(f"expected settings by name, got {type(settings).__name__}")
    return settings
