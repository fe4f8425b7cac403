"""Layers that read the same rows, which an artefact stores as one product with concatenated kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....system.types import Floats

ATTENTION_INPUTS = ("query", "key", "value")
# The layers of a product, by its name; a block without gates has only `first`.
SHARED = {"looked": ATTENTION_INPUTS, "first": ("first", "gate")}


def split_shared(path: str, layers: Sequence[str], kernel: Floats, bias: Floats | None) -> dict[str, Floats]:
    """Split a product into its layers.

    Args:
        path: The path of the product.
        layers: The names of its layers; empty if the product is a layer itself.
        kernel: The kernel of the product, `(in, out)`.
        bias: The bias of the product, `(out,)`, or None.

    Returns:
        The weights of the layers, by path.
    """
    block = path.rpartition("/")[0]
    paths = [f"{block}/{name}" for name in layers] or [path]
    weights = dict(zip((f"{one}/kernel" for one in paths), np.split(kernel, len(paths), axis=1), strict=True))
    if bias is not None:
        weights |= zip((f"{one}/bias" for one in paths), np.split(bias, len(paths)), strict=True)
    return weights
