"""Seeded draws that can be resumed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .types import Integers


def draw_rows(groups: Integers, chances: NDArray[np.float64], count: int, first: int, seed: int) -> Integers:
    """Draw rows by their groups. The same `first` and `seed` give the same rows.

    The rows of a group come in a shuffled order, each once before one is repeated. Returns the rows, int `(count,)`.
    """
    order = np.random.default_rng((seed, 1)).permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    starts = np.searchsorted(groups[order], np.arange(len(chances) + 1))
    picked = np.random.default_rng((seed, 2)).choice(len(chances), first + count, p=chances)
    places = count_before(picked)[first:]
    picked = picked[first:]
    return order[starts[picked] + places % np.diff(starts)[picked]]


def count_before(values: Integers) -> Integers:
    """Return how often each value has occurred before, `(n,)`."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    begins = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1])
    before = np.empty(len(values), dtype=np.int64)
    before[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.concatenate([begins, [len(values)]])))
    return before


def draw_cycled(n: int, count: int, first: int, seed: int | tuple[int, ...]) -> Integers:
    """Draw from 0…n-1 in a seeded order; each number comes once before all are shuffled anew."""
    rounds = range(first // n, -(-(first + count) // n))
    seed = seed if isinstance(seed, tuple) else (seed,)
    order = np.concatenate([np.random.default_rng((*seed, 4, turn)).permutation(n) for turn in rounds])
    return order[first - rounds.start * n :][:count]


def shuffle_batches(n: int, size: int, seed: int | tuple[int, ...]) -> list[Integers]:
    """Return batches of the indices 0…n-1 in a seeded order."""
    order = np.random.default_rng(seed).permutation(n)
    return [order[start : start + size] for start in range(0, n, size)]
