"""Letters with what belongs to them, Unicode's grapheme clusters (UAX 29), by the standard library alone.

Where it is not exact it keeps more together, so that every cut is one that UAX 29 has, but for letters that a few rare
signs begin (its class Prepend).
"""

from __future__ import annotations

import re
import unicodedata

JOINER = "\u200d"
# Of a category that is no mark's: joiners, tones of skin, letters of flags' tags, halves of kana and Thai vowels.
JOINED = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\uff9e\uff9f\u0e33\u0eb3]")
# Hangul's vowels and finals, which end a syllable, and its initials, which begin one.
HANGUL_ENDS = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")
HANGUL_BEGINS = re.compile("[\u1100-\u115f\ua960-\ua97c]")
# The combining class of signs that take a consonant's vowel, and join it to the next.
VIRAMA = 9


def is_within(text: str, at: int) -> bool:
    """True where the character at a place, and the one before it, are of one cluster."""
    if not 0 < at < len(text):
        return False
    before, char = text[at - 1], text[at]
    if unicodedata.category(char)[0] == "M" or JOINED.match(char) or HANGUL_ENDS.match(char):
        return unicodedata.category(before) not in ("Cc", "Zl", "Zp")
    if before == JOINER or HANGUL_BEGINS.match(before) or unicodedata.combining(before) == VIRAMA:
        return char.isalpha() or unicodedata.category(char) == "So"
    return _is_flag(char) and _flags_before(text, at) % 2 == 1


def _flags_before(text, at):
    """How many halves of flags, of which a flag is two, stand before a place."""
    start = at
    while start and _is_flag(text[start - 1]):
        start -= 1
    return at - start


def _is_flag(char):
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def cluster_start(text: str, at: int, least: int) -> int:
    """Return the last place up to `at` and behind `least` that is not within a cluster; `at` where there is none."""
    return next((place for place in range(at, least, -1) if not is_within(text, place)), at)
