"""Find the borders of letters with their marks, Unicode's grapheme clusters (UAX 29), with the standard library alone.

Where this is not exact it keeps more characters together, so that every cut is one that UAX 29 allows. An exception
are letters after a few rare signs (the class Prepend).
"""

from __future__ import annotations

import re
import unicodedata

JOINER = "\u200d"
# Characters that join although their category is not that of a mark: joiners, skin tones, the letters of flag tags, and
# some kana and Thai vowels.
JOINED = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\uff9e\uff9f\u0e33\u0eb3]")
# Hangul's vowels and finals, which end a syllable, and its initials, which begin one.
HANGUL_ENDS = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")
HANGUL_BEGINS = re.compile("[\u1100-\u115f\ua960-\ua97c]")
# The combining class of signs that take a consonant's vowel, and join it to the next.
VIRAMA = 9


def is_within_cluster(text: str, at: int) -> bool:
    """Check that a place in a text lies within a grapheme cluster.

    Returns:
        True if the character at the place and the one before it belong to the same cluster.
    """
    if not 0 < at < len(text):
        return False
    before, char = text[at - 1], text[at]
    if unicodedata.category(char)[0] == "M" or JOINED.match(char) or HANGUL_ENDS.match(char):
        return unicodedata.category(before) not in ("Cc", "Zl", "Zp")
    if before == JOINER or HANGUL_BEGINS.match(before) or unicodedata.combining(before) == VIRAMA:
        return char.isalpha() or unicodedata.category(char) == "So"
    return _is_flag(char) and _count_flags(text, at) % 2 == 1


def _count_flags(text, at):
    """Count the halves of flags before a place. A flag consists of two."""
    start = at
    while start and _is_flag(text[start - 1]):
        start -= 1
    return at - start


def _is_flag(char):
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def find_cluster_start(text: str, at: int, least: int) -> int:
    """Find the last place up to `at` that is not within a cluster.

    Returns:
        The place, or `at` if there is none.
    """
    return next((place for place in range(at, least, -1) if not is_within_cluster(text, place)), at)
