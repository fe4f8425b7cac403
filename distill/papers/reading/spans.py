"""Spans from a reader's logits, and windows of passages that are longer than what it reads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...system.types import Floats
from .examples import Span, Text
from .pieces import NO_WORD, TokenisedText

# Number of tokens that a reader sees at once, that two windows share, and that an answer has at most.
WINDOW, SHARED, LONGEST = 320, 96, 24


@dataclass(frozen=True)
class TokenSpan:
    """The best span of a passage; its `score` is how far its logits are above those of no answer."""

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


# The number of features of a token that are matches (token, word, stem), and of all: three more are of its sentence and
# four of its shape.
MATCHES, FEATURES = 3, 10
# Scales of cosines and of their distances from the best, which are small.
COSINE, DISTANCE = 3.0, 5.0


def passage_features(passage: TokenisedText, question: TokenisedText, cosines: Floats, text: Text) -> Floats:
    """Return the features of a passage's tokens: a float32 array `(t, FEATURES)`.

    `cosines`, `(s,)`, are those of the passage's sentences with the question.
    """
    return np.concatenate([_matches(passage, question), _of_sentences(passage, cosines, text), passage.shapes], axis=1)


def _matches(passage, question):
    ids = np.isin(passage.ids, question.ids)
    words, stems = set(question.words) - {NO_WORD}, set(question.stems) - {NO_WORD}
    same = [word in words for word in passage.words], [stem in stems for stem in passage.stems]
    return np.stack([ids, *same], axis=1).astype(np.float32)


def _of_sentences(passage, cosines, text):
    """Return for each token the cosine of its sentence, its distance from the best, and whether it is the best."""
    starts = np.array([start for start, _ in text.sentences])
    # A token may begin with the blank before its sentence.
    rows = np.clip(np.searchsorted(starts, passage.places[:, 0] + 1, side="right") - 1, 0, len(starts) - 1)
    far = cosines - cosines.max()
    return np.stack([COSINE * cosines, DISTANCE * far, far == 0], axis=1)[rows].astype(np.float32)
