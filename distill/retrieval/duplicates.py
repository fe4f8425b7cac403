"""Passages that repeat an earlier passage except for a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..vocabulary.words.plain import split_plain_words

# Two texts are alike if they share this part of the words of the longer one.
LEAST = 0.9
# Number of bits of the hashed set of a text's words.
BITS = 1024


def find_repeated(texts: Sequence[str], least: float = LEAST) -> list[int]:
    """Return for each text the number of the first text that it repeats, or its own number.

    Two texts are alike if they share enough words, counted with repetitions, and all of their words with a digit, as
    texts that differ in a number say different things.

    Args:
        least: Share of the words of the longer text that both must have.
    """
    words = [_Words.of(text) for text in texts]
    firsts: list[int] = []
    for number, counts in enumerate(words):
        alike = (first for first in range(number) if firsts[first] == first and _alike(words[first], counts, least))
        firsts.append(next(alike, number))
    return firsts


@dataclass(frozen=True)
class _Words:
    """The counts of a text's words, their total, and a hashed set with one bit per word, in which words may collide."""

    counts: Counter[str]
    total: int
    bits: int

    @classmethod
    def of(cls, text):
        counts = Counter(split_plain_words(text))
        return cls(counts, counts.total(), sum({1 << hash(word) % BITS for word in counts}))


def _alike(one, other, least):
    longer, shorter = (one, other) if one.total >= other.total else (other, one)
    needed = least * longer.total
    # Each bit that the shorter text lacks is a word that is not shared. This quick test rules out most pairs.
    if min(shorter.total, longer.total - (longer.bits & ~shorter.bits).bit_count()) < needed:
        return False
    shared = (one.counts & other.counts).total()
    return shared >= needed and _numbers(one.counts) == _numbers(other.counts)


def _numbers(counts):
    return {word: times for word, times in counts.items() if any(char.isdigit() for char in word)}
