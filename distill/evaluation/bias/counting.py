"""One blocked pass over all scores: what stands above each right answer, and who fills the first places."""

from dataclasses import dataclass

import numpy as np

from ...data.pool import NONE

# Questions whose scores are held at once.
BLOCK = 256


@dataclass(frozen=True)
class Counts:
    """What the analyses are computed from; q questions, r targets, l languages.

    `above`, int32 `(q, r, l)`: the candidates of a language that are wrong and not scored below a target, so that
    ties count against it; `share`, float32 `(q, l)`: the share of a language among the first `top`, candidates that
    tie at the last place having equal parts of what is left; `first`, the same of the first place alone.
    """

    above: np.ndarray
    share: np.ndarray
    first: np.ndarray


def count(asked, given, pool, top=100, block=BLOCK):
    """`Counts` of question vectors `(q, d)` and candidate vectors `(c, d)`. Memory grows with block x c."""
    shape = (*pool.targets.shape, len(pool.languages))
    above, share = np.zeros(shape, dtype=np.int32), np.zeros((len(asked), shape[2]), dtype=np.float32)
    nearest = np.zeros_like(share)
    for first in range(0, len(asked), block):
        rows = slice(first, first + block)
        scores = asked[rows] @ given.T
        share[rows], nearest[rows] = (_share(scores, pool.starts, places) for places in (top, 1))
        above[rows] = _above(scores, pool.targets[rows], pool.starts)
    return Counts(above, share, nearest)


def count_all(asked, given, pool, block=BLOCK):
    """int32 `(q, r)`: `Counts.above` of all languages together, alone."""
    above = np.zeros(pool.targets.shape, dtype=np.int32)
    ends = np.array([0, len(given)])
    for first in range(0, len(asked), block):
        rows = slice(first, first + block)
        above[rows] = _above(asked[rows] @ given.T, pool.targets[rows], ends)[..., 0]
    return above


def _above(scores, targets, starts):
    """int32 `(b, r, l)`; takes the targets out of `scores`."""
    own = np.take_along_axis(scores, np.where(targets == NONE, 0, targets), axis=1)
    own[targets == NONE] = np.inf
    rows, slots = np.nonzero(targets != NONE)
    scores[rows, targets[rows, slots]] = -np.inf
    above = np.empty((*targets.shape, len(starts) - 1), dtype=np.int32)
    for slot in range(targets.shape[1]):
        # Not below, rather than at least: a score that is no number counts against.
        hit = ~(scores < own[:, slot, None])
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
