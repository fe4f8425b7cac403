"""Text as it is written, which is to be cut as before: spellings that stand in it too often are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..encoders.tokenizer import Tokenizer, with_spellings
from ..students.vocabulary.pieces import piece_counts
from ..system.types import Doubles, Progress
from .candidates import LATIN, Candidate

# What share of a language's written text a spelling may have, to that of text as people type it. In Latin letters it
# takes words of other languages.
MOST, MOST_LATIN = 0.5, 0.1
# A text that loses a spelling may take another.
ROUNDS = 3


def protected(
    tokenizer: Tokenizer,
    candidates: Mapping[str, Candidate],
    texts: Mapping[str, Sequence[str]],
    progress: Progress,
) -> Tokenizer:
    """Return the tokenizer with the candidates that written `texts`, by language, do not use."""
    kept = [candidate.spelling(piece) for piece, candidate in candidates.items()]
    most = {piece: most_of(candidate) for piece, candidate in candidates.items()}
    for _ in range(ROUNDS):
        spelled = with_spellings(tokenizer, kept)
        written = np.max([_shares(spelled, lines, progress) for lines in texts.values()], axis=0)
        limits = np.array([most[one.piece] for one in kept])
        kept = [one for one, fits in zip(kept, written <= limits, strict=True) if fits]
    return with_spellings(tokenizer, kept)


def most_of(candidate: Candidate) -> float:
    """Return the share of a language's written text that a candidate may have."""
    return (MOST_LATIN if candidate.cell[0] == LATIN else MOST) * candidate.share


def _shares(tokenizer: Tokenizer, lines: Sequence[str], progress: Progress) -> Doubles:
    """Each spelling's share of the pieces of lines, `(spellings,)`."""
    counts = piece_counts(tokenizer.unexpanded, list(lines))
    progress(len(lines))
    return counts[len(tokenizer) :] / max(1, counts.sum())
