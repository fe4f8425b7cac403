"""Settings of a student that its arrays do not say, such as how many heads share a row, as one more array."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from ..system.types import Floats, Json

SETTINGS = "settings"


def as_array(settings: Mapping[str, Json]) -> Floats:
    """Return settings as an array: the bytes of their JSON, one a number."""
    return np.frombuffer(json.dumps(dict(settings)).encode(), np.uint8).astype(np.float32)


def settings_in(weights: Mapping[str, Floats]) -> dict[str, Json]:
    """Return the settings among weights `{path: array}`. Raises `KeyError` where there are none, or `ValueError`."""
    settings = json.loads(weights[SETTINGS].astype(np.uint8).tobytes())
    if not isinstance(settings, dict):
        raise ValueError(f"expected settings by name, got {type(settings).__name__}")
    return settings
