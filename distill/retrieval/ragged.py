"""Ragged arrays, whose parts lie end to end: where each part begins, and the rows of some parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import Integers


def part_edges(counts: Integers | Sequence[int]) -> Integers:
    """Return the first row of each of n parts, and the end of the last, as an int64 array `(n + 1,)`."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def consecutive_runs(first: Integers, counts: Integers) -> Integers:
    """Return runs of consecutive numbers, end to end.

    Args:
        first: Integer array `(r,)`, the first number of each run.
        counts: Integer array `(r,)`, the length of each run.
    """
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def counts_of(starts: NDArray[np.generic], rows: Integers) -> Integers:
    """Return how many rows some parts have; only their edges are read.

    Args:
        starts: Array `(n + 1,)` from `part_edges`.
        rows: Integer array `(r,)`, the parts.

    Returns:
        Int64 array `(r,)`.
    """
    return starts[rows + 1].astype(np.int64) - starts[rows].astype(np.int64)


def rows_of(starts: NDArray[np.generic], rows: Integers) -> Integers:
    """Return the rows of some parts, end to end.

    Args:
        starts: Array `(n + 1,)` from `part_edges`.
        rows: Integer array `(r,)`, the parts.

    Returns:
        Int64 array.
    """
    return consecutive_runs(starts[rows].astype(np.int64), counts_of(starts, rows))
