"""Heads that share a row evenly, as BERT's have to: where a student's are fewer or smaller, the rest is zeros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....errors import ExportError
from ....system.types import Floats


@dataclass(frozen=True)
class Heads:
    """`count` heads of `size` numbers, which begin with those of `before` heads of `size_before`; the rest is zeros."""

    count: int
    size: int
    before: int
    size_before: int

    def columns(self, array: Floats, is_query: bool = False) -> Floats:
        """Return the columns of all heads, `(..., before * size_before)` -> `(..., count * size)`.

        The scores' divisor is the root of a head's size; a query takes the difference.
        """
        scale = np.float32((self.size / self.size_before) ** 0.5) if is_query else np.float32(1)
        parts = (array * scale).reshape(*array.shape[:-1], self.before, self.size_before)
        room = [(0, 0)] * (array.ndim - 1) + [(0, self.count - self.before), (0, self.size - self.size_before)]
        return np.pad(parts, room).reshape(*array.shape[:-1], self.count * self.size)


def padded(width: int, heads: int, size: int) -> Heads:
    """Return the least number of heads that share `width` numbers and have room for `heads` of `size`.

    Raises `ExportError` where there are none.
    """
    for count in range(heads, width + 1):
        if width % count == 0 and width // count >= size:
            return Heads(count, width // count, heads, size)
    raise ExportError(
        f"a BertModel of {width} numbers a token has no room for {heads} heads of {size}; export a bundle"
    )
