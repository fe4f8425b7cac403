"""Protect written text from new aliases, so that it is cut as before: leave out aliases that occur in it too often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...encoders.tokenizer import Tokenizer, with_spellings
from ...students.vocabulary.pieces import count_tokens
from ...system.types import Doubles, Progress
from .candidates import LATIN, Candidate

# The greatest share that an alias may have in written text, relative to its share in noisy text. The limit is lower in
# Latin letters, where an alias could match words of other languages.
MOST, MOST_LATIN = 0.5, 0.1
# A text that loses one alias may then use another, so the check is repeated.
ROUNDS = 3


def add_unused_aliases(
    tokenizer: Tokenizer,
    candidates: Mapping[str, Candidate],
    texts: Mapping[str, Sequence[str]],
    progress: Progress,
) -> Tokenizer:
    """Add the candidates to a tokenizer that written text does not use.

    Args:
        progress: A function that is called with the number of lines that are done.
    """
    kept = [candidate.spelling(piece) for piece, candidate in candidates.items()]
    most = {piece: share_limit(candidate) for piece, candidate in candidates.items()}
    for _ in range(ROUNDS):
        spelled = with_spellings(tokenizer, kept)
        written = np.max([_measure_shares(spelled, lines, progress) for lines in texts.values()], axis=0)
        limits = np.array([most[one.piece] for one in kept])
        kept = [one for one, fits in zip(kept, written <= limits, strict=True) if fits]
    return with_spellings(tokenizer, kept)


def share_limit(candidate: Candidate) -> float:
    """Return the greatest share of a language's written text that a candidate may have."""
    return (MOST_LATIN if candidate.cell[0] == LATIN else MOST) * candidate.share


def _measure_shares(tokenizer: Tokenizer, lines: Sequence[str], progress: Progress) -> Doubles:
    """Return the share of each alias in the tokens of the lines, float64 `(aliases,)`."""
    counts = count_tokens(tokenizer.unexpanded, list(lines))
    progress(len(lines))
    return counts[len(tokenizer) :] / max(1, counts.sum())
