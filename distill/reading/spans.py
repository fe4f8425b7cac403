"""Spans out of a reader's logits, and passages that are longer than what it reads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..system.types import Floats
from .examples import Span

# Pieces that a reader sees at once, those that two windows share, and those of an answer at most.
WINDOW, SHARED, LONGEST = 320, 96, 24


@dataclass(frozen=True)
class Found:
    """The best span of a passage, first and last piece, and its `score`: how far its logits are above no answer."""

    first: int
    last: int
    score: float


# What is found in a text without pieces.
NOTHING = Found(0, -1, 0.0)


def windows_of(length: int) -> list[Span]:
    """Return the windows `(start, end)` of a text of so many pieces: each is full where there are more than one.

    A text without pieces, such as of blanks that have no width, has none.
    """
    if not length:
        return []
    if length <= WINDOW:
        return [(0, length)]
    starts = [*range(0, length - WINDOW, WINDOW - SHARED), length - WINDOW]
    return [(start, start + WINDOW) for start in starts]


def best_span(logits: Floats, length: int) -> Found:
    """Return the span with the greatest start plus end of logits `(t + 1, 2)`, of which the first are of no answer.

    `length` of the t pieces are the text's. Devlin et al. (2019), BERT, sections 4.2 and 4.3.
    """
    starts, ends = logits[1 : length + 1].T
    rows = np.arange(length)
    far = rows[None] - rows[:, None]
    sums = np.where((far >= 0) & (far < LONGEST), starts[:, None] + ends[None], -np.inf)
    first, last = divmod(int(sums.argmax()), length)
    return Found(first, last, float(sums[first, last] - logits[0].sum()))


def best_of(parts: Sequence[tuple[int, Found]]) -> Found:
    """Return the best of `(start of its window, found there)`, in pieces of the text; of none `NOTHING`."""
    if not parts:
        return NOTHING
    start, best = max(parts, key=lambda one: one[1].score)
    return Found(start + best.first, start + best.last, best.score)
