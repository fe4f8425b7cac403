"""A blocked pass over all scores that counts the wrong candidates above each right answer, and shares of the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...data.pool import NONE, Pool
from ...retrieval.exact import ROUNDING
from ...retrieval.units import list_right
from ...system.text import number_copies
from ...system.types import Floats

# int32 saves memory, as there are many counts.
CountArray: TypeAlias = NDArray[np.int32]
# Number of questions whose scores are held at once.
BLOCK = 256


@dataclass(frozen=True)
class Counts:
    """The counts that all analyses are computed from, of q questions, r targets and l languages.

    Attributes:
        above: Int32 array `(q, r, l)`, the number of wrong candidates of a language that do not score below a target,
            so that ties count against it.
        share: Float32 array `(q, l)`, the share of a language among the top candidates. Candidates that tie at the last
            place get equal parts of what is left.
        first: Float32 array `(q, l)`, the same for the first place alone.
    """

    above: CountArray
    share: Floats
    first: Floats


def count_candidates(questions: Floats, candidates: Floats, pool: Pool, top: int = 100, block: int = BLOCK) -> Counts:
    """Count candidates by language; memory grows with `block` times c.

    Args:
        questions: Float array `(q, d)`.
        candidates: Float array `(c, d)`.
        top: Number of first places that shares are computed over.
        block: Number of questions whose scores are held at once.
    """
    shape, right = (*pool.targets.shape, len(pool.languages)), _find_right(pool)
    above, share = np.zeros(shape, dtype=np.int32), np.zeros((len(questions), shape[2]), dtype=np.float32)
    nearest = np.zeros_like(share)
    for first in range(0, len(questions), block):
        rows = slice(first, first + block)
        scores = questions[rows] @ candidates.T
        share[rows], nearest[rows] = (_share(scores, pool.starts, places) for places in (top, 1))
        above[rows] = _above(scores, pool.targets[rows], pool.starts, _of_rows(right, rows))
    return Counts(above, share, nearest)


def count_above(questions: Floats, candidates: Floats, pool: Pool, block: int = BLOCK) -> CountArray:
    """Count the wrong candidates above each target, in all languages together. Returns an int32 array `(q, r)`."""
    above = np.zeros(pool.targets.shape, dtype=np.int32)
    ends, right = np.array([0, len(candidates)]), _find_right(pool)
    for first in range(0, len(questions), block):
        rows = slice(first, first + block)
        scores = questions[rows] @ candidates.T
        above[rows] = _above(scores, pool.targets[rows], ends, _of_rows(right, rows))[..., 0]
    return above


def _find_right(pool):
    """Return the question and the candidate of each target and each copy of one, by question."""
    rows, slots = np.nonzero(pool.targets != NONE)
    of, right = list_right(pool.targets[rows, slots], number_copies(pool.sentences))
    return rows[of], right


def _of_rows(pairs, rows):
    first, end = np.searchsorted(pairs[0], (rows.start, rows.stop))
    return pairs[0][first:end] - rows.start, pairs[1][first:end]


def _above(scores, targets, starts, right_ones):
    """Return int32 counts `(b, r, l)`; this takes the targets and their copies out of `scores`."""
    right = np.take_along_axis(scores, np.where(targets == NONE, 0, targets), axis=1)
    right[targets == NONE] = np.inf
    scores[right_ones] = -np.inf
    above = np.empty((*targets.shape, len(starts) - 1), dtype=np.int32)
    for slot in range(targets.shape[1]):
        # The test is "not below" rather than "at least", so that a score that is NaN counts against the target.
        hit = ~(scores < right[:, slot, None] - ROUNDING)
        for number, (start, end) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
            above[:, slot, number] = np.count_nonzero(hit[:, start:end], axis=1)
    return above


def _share(scores, starts, top):
    top = min(top, scores.shape[1])
    last = np.partition(scores, scores.shape[1] - top, axis=1)[:, -top, None]
    above, below = scores > last + ROUNDING, scores < last - ROUNDING
    over = np.add.reduceat(above, starts[:-1], axis=1, dtype=np.float32)
    tied = np.add.reduceat(~(above | below), starts[:-1], axis=1, dtype=np.float32)
    left = top - over.sum(axis=1, keepdims=True)
    return (over + left * tied / tied.sum(axis=1, keepdims=True)) / top
