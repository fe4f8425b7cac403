"""Sample the texts on which kernels are rounded and fitted."""

from __future__ import annotations

import numpy as np

from ..export.encode import shortened
from ..system.types import IdLists

# The number of tokens in a sample, and the maximum per text.
SEEN, LONGEST = 60_000, 192


def draw_texts(rows: IdLists, most: int, random: np.random.Generator) -> list[list[int]]:
    """Draw texts until they have about `most` tokens together, each shortened to `LONGEST`.

    Args:
        rows: The texts as lists of token ids.
        most: The number of tokens.
        random: The random generator.

    Returns:
        The drawn lists of token ids.
    """
    drawn = [shortened(list(rows[place]), LONGEST) for place in random.permutation(len(rows))]
    return drawn[: int(np.searchsorted(np.cumsum([len(ids) for ids in drawn]), most)) + 1]
