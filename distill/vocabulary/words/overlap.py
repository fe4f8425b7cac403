"""Find texts that share a run of letters with others: copies, and passages cut from the same document."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...system.types import Booleans

# The number of letters and digits in a run. Blanks and punctuation are left out, as sources write them differently.
RUN = 50
# The base of a polynomial hash modulo 2**64 of the runs (Karp and Rabin, 1987). Any odd number has an inverse.
BASE = 0x9E3779B97F4A7C15
INVERSE = pow(BASE, -1, 2**64)


def find_sharing(texts: Sequence[str], others: Sequence[str], run: int = RUN) -> Booleans:
    """Find the texts that have a run of letters, whatever case, blanks and punctuation, in common with other texts."""
    windows = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *(_hash_runs(other, run) for other in others)]))
    return np.array([_holds_any(_hash_runs(text, run), windows) for text in texts], dtype=bool)


def extract_letters(text: str) -> str:
    """Return the letters and digits of a text, in one case and width."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())


def _holds_any(numbers, known):
    """Return True if one of the `numbers` is among the ascending `known` ones."""
    places = np.searchsorted(known, numbers)
    inside = places < len(known)
    return bool((known[places[inside]] == numbers[inside]).any())


def _hash_runs(text, run) -> NDArray[np.uint64]:
    """Return a hash of each run of letters."""
    codes = np.frombuffer(extract_letters(text).encode("utf-32-le", "replace"), dtype="<u4").astype(np.uint64)
    if len(codes) < run:
        return np.zeros(0, dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(codes * _powers(BASE, len(codes)))])
    return (sums[run:] - sums[:-run]) * _powers(INVERSE, len(sums) - run)


def _powers(base, count):
    """Return 1, base, base ** 2 … modulo 2**64."""
    factors = np.full(count, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)
