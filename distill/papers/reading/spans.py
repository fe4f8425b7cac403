"""Spans from a reader's logits, and windows of passages that are longer than what it reads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...system.types import Floats
from .examples import Span

# Number of tokens that a reader sees at once, that two windows share, and that an answer has at most.
WINDOW, SHARED, LONGEST = 320, 96, 24


@dataclass(frozen=True)
class TokenSpan:
    """The best span of a passage.

    Attributes:
        first: Its first token.
        last: Its last token.
        score: How far its logits are above those of no answer.
    """

    first: int
    last: int
    score: float


# The span of a text without tokens.
NOTHING = TokenSpan(0, -1, 0.0)


def split_windows(length: int) -> list[Span]:
    """Return the windows `(start, end)` of a text of a number of tokens.

    If there are several, each is full. A text without tokens, such as one of blanks without width, has no window.
    """
    if not length:
        return []
    if length <= WINDOW:
        return [(0, length)]
    starts = [*range(0, length - WINDOW, WINDOW - SHARED), length - WINDOW]
    return [(start, start + WINDOW) for start in starts]


def best_span(logits: Floats, length: int) -> TokenSpan:
    """Return the span with the greatest sum of start and end logits (Devlin et al., 2019, BERT, sections 4.2 and 4.3).

    Args:
        logits: Float array `(t + 1, 2)`, those of no answer first.
        length: Number of the t tokens that are the text's; the others are padding.
    """
    starts, ends = logits[1 : length + 1].T
    rows = np.arange(length)
    far = rows[None] - rows[:, None]
    sums = np.where((far >= 0) & (far < LONGEST), starts[:, None] + ends[None], -np.inf)
    first, last = divmod(int(sums.argmax()), length)
    return TokenSpan(first, last, float(sums[first, last] - logits[0].sum()))


def best_over_windows(parts: Sequence[tuple[int, TokenSpan]]) -> TokenSpan:
    """Return the best span over windows, in tokens of the text; `NOTHING` if there is no window."""
    if not parts:
        return NOTHING
    start, best = max(parts, key=lambda one: one[1].score)
    return TokenSpan(start + best.first, start + best.last, best.score)
