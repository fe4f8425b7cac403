"""A smaller n-gram encoder out of one: what counts most stays, and what reads it is refitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...system.types import IdLists
from ..factor import factorised
from .network import NGramEncoder
from .refit import refitted
from .thin import shallow, thinned, with_head, with_orders

if TYPE_CHECKING:
    from ..shape import Shape

# Texts that are refitted on, at most about so many.
SAMPLE = 4096


def limits_of(model: NGramEncoder) -> dict[str, int]:
    """Return the most of each size that a cut of the encoder can have."""
    inner = model.get_layer("head").inner
    sizes = {"channels": model.channels, "convolutions": model.convolutions, "hidden": model.hidden, "inner": inner}
    return {"rank": model.rank or model.width, **sizes, "dimension": model.dimension}


def cut(model: NGramEncoder, shape: Shape, rows: IdLists) -> NGramEncoder:
    """Return an `NGramEncoder` of `shape` but for its `dimension`; where features were cut, refitted on id lists."""
    most = limits_of(model)
    smaller = factorised(model, shape.rank or most["rank"])
    smaller = with_orders(smaller, shape.orders or model.orders)
    smaller = thinned(smaller, shape.channels or model.channels)
    smaller = shallow(smaller) if shape.convolutions == 1 else smaller
    if smaller is not model:
        smaller = refitted(smaller, model, rows[:: max(1, len(rows) // SAMPLE)])
    return with_head(smaller, shape.hidden or model.hidden, shape.inner or most["inner"])
