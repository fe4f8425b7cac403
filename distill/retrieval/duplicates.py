"""Passages that say the same as one before them, but for a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..words.plain import plain_words

# Of the words of the longer of two texts, those that both have.
LEAST = 0.9
# Bits of the set of a text's words.
BITS = 1024


def first_alike(texts: Sequence[str], least: float = LEAST) -> list[int]:
    """Return for each text the number of the first text that it repeats, its own where there is none.

    Two texts are alike where both have `least` of the words of the longer one, as often as they are there, and all of
    their words with a digit: what differs in a number says another thing.
    """
    words = [_Words.of(text) for text in texts]
    firsts: list[int] = []
    for number, counts in enumerate(words):
        alike = (first for first in range(number) if firsts[first] == first and _alike(words[first], counts, least))
        firsts.append(next(alike, number))
    return firsts


@dataclass(frozen=True)
class _Words:
    """How often a text has each word, all together, and a bit for each distinct word, which others may have too."""

    counts: Counter[str]
    total: int
    bits: int

    @classmethod
    def of(cls, text):
        counts = Counter(plain_words(text))
        return cls(counts, counts.total(), sum({1 << hash(word) % BITS for word in counts}))


def _alike(one, other, least):
    longer, shorter = (one, other) if one.total >= other.total else (other, one)
    needed = least * longer.total
    # Each bit that one lacks is a word that is not shared: most texts differ in that, which is seen soonest.
    if min(shorter.total, longer.total - (longer.bits & ~shorter.bits).bit_count()) < needed:
        return False
    shared = (one.counts & other.counts).total()
    return shared >= needed and _numbers(one.counts) == _numbers(other.counts)


def _numbers(counts):
    return {word: times for word, times in counts.items() if any(char.isdigit() for char in word)}
