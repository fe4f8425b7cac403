"""One blocked pass over all scores: the wrong candidates above each right answer, and shares of the first places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...data.pool import NONE, Pool
from ...system.types import Floats

# int32, as there are many of them.
Counted: TypeAlias = NDArray[np.int32]
# Questions whose scores are held at once.
BLOCK = 256


@dataclass(frozen=True)
class Counts:
    """The counts that the analyses are computed from; q questions, r targets, l languages.

    `above`, int32 `(q, r, l)`: the candidates of a language that are wrong and not scored below a target, so that
    ties count against it; `share`, float32 `(q, l)`: the share of a language among the first `top`, candidates that
    tie at the last place having equal parts of what is left; `first`, the same of the first place alone.
    """

    above: Counted
    share: Floats
    first: Floats


def count(questions: Floats, candidates: Floats, pool: Pool, top: int = 100, block: int = BLOCK) -> Counts:
    """Return the `Counts` of question vectors `(q, d)` and candidate vectors `(c, d)`. Memory grows with block x c."""
    shape = (*pool.targets.shape, len(pool.languages))
    above, share = np.zeros(shape, dtype=np.int32), np.zeros((len(questions), shape[2]), dtype=np.float32)
    nearest = np.zeros_like(share)
    for first in range(0, len(questions), block):
        rows = slice(first, first + block)
        scores = questions[rows] @ candidates.T
        share[rows], nearest[rows] = (_share(scores, pool.starts, places) for places in (top, 1))
        above[rows] = _above(scores, pool.targets[rows], pool.starts)
    return Counts(above, share, nearest)


def count_all(questions: Floats, candidates: Floats, pool: Pool, block: int = BLOCK) -> Counted:
    """Return `Counts.above` of all languages together, int32 `(q, r)`."""
    above = np.zeros(pool.targets.shape, dtype=np.int32)
    ends = np.array([0, len(candidates)])
    for first in range(0, len(questions), block):
        rows = slice(first, first + block)
        above[rows] = _above(questions[rows] @ candidates.T, pool.targets[rows], ends)[..., 0]
    return above


def _above(scores, targets, starts):
    """int32 `(b, r, l)`; takes the targets out of `scores`."""
    right = np.take_along_axis(scores, np.where(targets == NONE, 0, targets), axis=1)
    right[targets == NONE] = np.inf
    rows, slots = np.nonzero(targets != NONE)
    scores[rows, targets[rows, slots]] = -np.inf
    above = np.empty((*targets.shape, len(starts) - 1), dtype=np.int32)
    for slot in range(targets.shape[1]):
        # Not below, rather than at least: a score that is no number counts against.
        hit = ~(scores < right[:, slot, None])
        for number, (start, end) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
            above[:, slot, number] = np.count_nonzero(hit[:, start:end], axis=1)
    return above


def _share(scores, starts, top):
    top = min(top, scores.shape[1])
    last = np.partition(scores, scores.shape[1] - top, axis=1)[:, -top, None]
    over = np.add.reduceat(scores > last, starts[:-1], axis=1, dtype=np.float32)
    tied = np.add.reduceat(scores == last, starts[:-1], axis=1, dtype=np.float32)
    left = top - over.sum(axis=1, keepdims=True)
    return (over + left * tied / tied.sum(axis=1, keepdims=True)) / top
