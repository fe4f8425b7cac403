"""Cut texts into passages at the ends of sentences, and these into sentences. Lengths are in characters."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import sentencex

from .segmenters import import_extra

# The number of texts whose sentences are cached.
CACHED = 2**17
# A line of blanks alone parts paragraphs as an empty one does.
BLANK_LINE = re.compile("\n[ \t\r\v\f\xa0]+(?=\n)")


@lru_cache(CACHED)
def find_sentences_cached(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return the result of `find_sentences`, which is remembered for texts that come again."""
    return find_sentences(text, language)


def find_sentences(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Find the sentences of a text, as their start and end in characters.

    Blanks around a sentence belong to none. A text without a boundary is one sentence, and so is a blank text.
    """
    # Each lone surrogate becomes one character, so that places stay valid.
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    text = BLANK_LINE.sub(lambda line: "\n" * len(line[0]), text)
    places, end = [], 0
    for part in SPLITTERS.get(language[:2].lower(), sentencex.segment)(language, text):
        if sentence := part.strip():
            start = text.index(sentence, end)
            end = start + len(sentence)
            places.append((start, end))
    return tuple(places) or ((0, len(text)),)


def split_thai_sentences(language: str, text: str) -> Sequence[str]:
    """Split Thai lines into sentences by PyThaiNLP's crfcut, a conditional random field over words."""
    # Otherwise PyThaiNLP makes a folder in the home directory.
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
    import_extra("pycrfsuite", "Thai")
    cut = import_extra("pythainlp.tokenize", "Thai").sent_tokenize
    return [sentence for line in text.splitlines() for sentence in cut(line, engine="crfcut")]


SPLITTERS = {"th": split_thai_sentences}


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
    """Tell whether the character at a place and the one before it belong to the same grapheme cluster."""
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
    """Find the last place up to `at` that is not within a cluster. Returns the place, or `at` if there is none."""
    return next((place for place in range(at, least, -1) if not is_within_cluster(text, place)), at)


# Start and end, in characters.
Place: TypeAlias = tuple[int, int]
# A text is split in stretches of this many characters, cut at the end of a line or a word, because the time grows with
# the square of a stretch.
STRETCH = 20_000
BLANK = re.compile(r"\s")


@dataclass(frozen=True)
class Cut:
    """Options for cutting documents into passages; `overlap` is the most that a passage repeats of the one before."""

    length: int = 1000
    overlap: int = 0
    language: str = "en"


@dataclass(frozen=True)
class PassageSpan:
    """The start of a passage in its document, in characters, and its sentences within the passage."""

    start: int
    end: int
    sentences: tuple[Place, ...]


def cut_text(text: str, language: str, cut: Cut) -> list[PassageSpan]:
    """Cut a text into passages at the ends of sentences; one that is longer than a passage is cut between words."""
    places = [part for place in split_sentences(text, language) for part in _split_long(text, place, cut.length)]
    return [_make_span(places[first:last]) for first, last in _group_sentences(places, cut)]


def _make_span(places):
    start = places[0][0]
    return PassageSpan(start, places[-1][1], tuple((first - start, last - start) for first, last in places))


def split_sentences(text: str, language: str) -> list[Place]:
    """Find the sentences of a text of any length, as their start and end in characters."""
    places: list[Place] = []
    for start, end in _split_stretches(text):
        stretch = text[start:end]
        if stretch.strip():
            sentences = [(start + first, start + last) for first, last in find_sentences(stretch, language)]
            places += _attach_marks(text, sentences)
    return places


def _attach_marks(text: str, places: Sequence[Place]) -> Iterator[Place]:
    """Yield sentences with the marks of their last letter, which the splitter counts to the next sentence."""
    begin = 0
    for (start, end), after in zip(places, [*(place[0] for place in places[1:]), 0], strict=True):
        start, stop = max(start, begin), max(end, begin)
        while end == after and stop < len(text) and is_within_cluster(text, stop):
            stop += 1
        begin = stop
        if text[start:stop].strip():
            yield start + len(text[start:stop]) - len(text[start:stop].lstrip()), stop


def _split_stretches(text: str) -> Iterator[Place]:
    """Yield stretches of a text that end with a paragraph, or else a line, a word, or a letter with its marks."""
    start = 0
    while len(text) - start > STRETCH:
        ends = (text.rfind(mark, start, start + STRETCH) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > start + STRETCH // 2), None)
        end = end or find_cluster_start(text, start + STRETCH, start + STRETCH // 2)
        yield start, end
        start = end
    yield start, len(text)


def _split_long(text: str, place: Place, length: int) -> Iterator[Place]:
    """Yield parts of a sentence of at most `length` characters, cut at the last blank in the second half of that
    length.

    Without such a blank the sentence is cut before the last letter that has room with all its marks.
    """
    start, end = place
    while end - start > length:
        ends = (match.start() for match in BLANK.finditer(text, start + length // 2, start + length + 1))
        blanks = [at for at in ends if not is_within_cluster(text, at + 1)]
        stop = blanks[-1] if blanks else find_cluster_start(text, start + length, start + length // 2)
        yield start, stop
        start = stop + len(text[stop:end]) - len(text[stop:end].lstrip())
    yield start, end


def _group_sentences(places: Sequence[Place], cut: Cut) -> Iterator[tuple[int, int]]:
    """Yield the first sentence of each passage and the one behind its last."""
    first, last = 0, 0
    while last < len(places):
        reached = last
        while last < len(places) and places[last][1] - places[first][0] <= cut.length:
            last += 1
        if last == reached:
            # The sentences that would be repeated leave no room for a new one.
            first = reached
            continue
        yield first, last
        first = next((at for at in range(first + 1, last) if places[last - 1][1] - places[at][0] <= cut.overlap), last)
