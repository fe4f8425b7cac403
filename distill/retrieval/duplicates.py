"""Passages that say the same as one before them, but for a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..words.plain import plain_words

# Of the words of the longer of two texts, those that both have.
LEAST = 0.9


def first_alike(texts: Sequence[str], least: float = LEAST) -> list[int]:
    """Return for each text the number of the first text that it repeats, its own where there is none.

    Two texts are alike where both have `least` of the words of the longer one, as often as they are there, and all of
    their words with a digit: what differs in a number says another thing.
    """
    words = [Counter(plain_words(text)) for text in texts]
    firsts: list[int] = []
    for number, counts in enumerate(words):
        alike = (first for first in range(number) if firsts[first] == first and _alike(words[first], counts, least))
        firsts.append(next(alike, number))
    return firsts


def _alike(one, other, least):
    longer, shorter = (one, other) if one.total() >= other.total() else (other, one)
    needed = least * longer.total()
    # Each distinct word that one lacks is shared no more: most texts differ in that, which is seen soonest.
    if min(shorter.total(), longer.total() - len(longer.keys() - shorter.keys())) < needed:
        return False
    return (one & other).total() >= needed and _numbers(one) == _numbers(other)


def _numbers(counts):
    return {word: times for word, times in counts.items() if any(char.isdigit() for char in word)}
