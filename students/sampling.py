"""The sample of texts that kernels are rounded and fitted by."""

from __future__ import annotations

import numpy as np

from ..export.encode import shortened
from ..system.types import IdLists

# The tokens of a sample, and of a text at most.
SEEN, LONGEST = 60_000, 192


def draw_rows(rows: IdLists, most: int, random: np.random.Generator) -> list[list[int]]:
    """Return some id lists that have about `most` ids together, each shortened to `LONGEST`."""
    drawn = [shortened(list(rows[place]), LONGEST) for place in random.permutation(len(rows))]
    return drawn[: int(np.searchsorted(np.cumsum([len(ids) for ids in drawn]), most)) + 1]
