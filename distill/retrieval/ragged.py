"""Ragged arrays, whose parts lie end to end: where each begins, and the rows of some of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import Integers


def edges(counts: Integers | Sequence[int]) -> Integers:
    """Return int64 `(n + 1,)`: the begin of each of n parts of so many rows, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def ranges(first: Integers, counts: Integers) -> Integers:
    """Return the numbers from each `first` on, so many as its count, end to end."""
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def counts_of(starts: NDArray[np.generic], rows: Integers) -> Integers:
    """Return int64 `(r,)`: how many rows some parts have, of the `edges` of all, of which these alone are read."""
    return starts[rows + 1].astype(np.int64) - starts[rows].astype(np.int64)


def rows_of(starts: NDArray[np.generic], rows: Integers) -> Integers:
    """Return int64: the rows of some parts, end to end, of the `edges` of all."""
    return ranges(starts[rows].astype(np.int64), counts_of(starts, rows))
