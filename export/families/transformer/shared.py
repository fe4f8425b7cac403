"""Layers that read the same rows, which an artefact has as one product: their kernels stand side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....system.types import Floats

LOOKED = ("query", "key", "value")
# By the name of a product; a block without gates has `first` alone.
SHARED = {"looked": LOOKED, "first": ("first", "gate")}


def apart(path: str, layers: Sequence[str], kernel: Floats, bias: Floats | None) -> dict[str, Floats]:
    """Return `{path: array}` of the layers whose kernels `(in, out)` and biases make up a product's.

    Without `layers` the product is a layer itself.
    """
    block = path.rpartition("/")[0]
    paths = [f"{block}/{name}" for name in layers] or [path]
    weights = dict(zip((f"{one}/kernel" for one in paths), np.split(kernel, len(paths), axis=1), strict=True))
    if bias is not None:
        weights |= zip((f"{one}/bias" for one in paths), np.split(bias, len(paths)), strict=True)
    return weights
