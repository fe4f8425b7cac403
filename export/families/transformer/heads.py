"""Pad attention heads with zeros: BERT's heads share a row evenly, while a student's may be fewer or smaller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....errors import ExportError
from ....system.types import Floats


@dataclass(frozen=True)
class PaddedHeads:
    """Padded heads.

    Args:
        before: The number of heads before padding; the others are zeros.
    """

    count: int
    size: int
    before: int
    size_before: int

    def pad_columns(self, array: Floats, is_query: bool = False) -> Floats:
        """Pad the columns of an array to all heads.

        The scores are divided by the root of a head's size, so a query is scaled to make up for the difference.

        Args:
            array: Float array `(..., before * size_before)`.

        Returns:
            Float array `(..., count * size)`.
        """
        scale = np.float32((self.size / self.size_before) ** 0.5) if is_query else np.float32(1)
        parts = (array * scale).reshape(*array.shape[:-1], self.before, self.size_before)
        room = [(0, 0)] * (array.ndim - 1) + [(0, self.count - self.before), (0, self.size - self.size_before)]
        return np.pad(parts, room).reshape(*array.shape[:-1], self.count * self.size)


def fit_heads(width: int, heads: int, size: int) -> PaddedHeads:
    """Find the least number of heads that share a row evenly and have room for a student's heads.

    Raises:
        ExportError: If there is none.
    """
    for count in range(heads, width + 1):
        if width % count == 0 and width // count >= size:
            return PaddedHeads(count, width // count, heads, size)
    raise ExportError(f"a BertModel of width {width} has no room for {heads} heads of {size}; export a bundle")
