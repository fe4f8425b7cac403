"""Cut an n-gram encoder: the parts that count most are kept, and the layer that reads them is refitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...system.types import IdLists
from ..building import factorise
from .network import NGramEncoder
from .refit import refit_pooling
from .thin import keep_first_convolutions, select_channels, select_orders, shrink_head

if TYPE_CHECKING:
    from ..shape import Shape

# The approximate maximum number of texts on which the pooling layer is refitted.
SAMPLE = 4096


def limits_of(model: NGramEncoder) -> dict[str, int]:
    """Return the largest sizes that a cut of the encoder can have."""
    inner = model.get_layer("head").inner
    sizes = {"channels": model.channels, "convolutions": model.convolutions, "hidden": model.hidden, "inner": inner}
    return {"rank": model.rank or model.width, **sizes, "dimension": model.dimension}


def cut(model: NGramEncoder, shape: Shape, rows: IdLists) -> NGramEncoder:
    """Cut an n-gram encoder to a shape, except for its `dimension`.

    If features are cut, the result is refitted on the texts.

    Args:
        rows: The texts as lists of token ids.
    """
    most = limits_of(model)
    smaller = factorise(model, shape.rank or most["rank"])
    smaller = select_orders(smaller, shape.orders or model.orders)
    smaller = select_channels(smaller, shape.channels or model.channels)
    smaller = keep_first_convolutions(smaller) if shape.convolutions == 1 else smaller
    if smaller is not model:
        smaller = refit_pooling(smaller, model, rows[:: max(1, len(rows) // SAMPLE)])
    return shrink_head(smaller, shape.hidden or model.hidden, shape.inner or most["inner"])
