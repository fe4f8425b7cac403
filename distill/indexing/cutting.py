"""Documents cut into passages at sentence ends, and these into sentences; lengths are in characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..documents.document import Document
from ..words.sentences import sentences_in

# Begin and end, in characters.
Place: TypeAlias = tuple[int, int]
# A text is looked at in stretches of so many characters, cut at the end of a line or a word: the time grows with the
# square of a stretch.
STRETCH = 20_000
BLANK = re.compile(r"\s")


@dataclass(frozen=True)
class Cut:
    """How documents are cut: passages of at most `length` characters, a document up to it is one.

    A passage begins with those last sentences of the one before it that have at most `overlap` characters together.
    `language` is that of documents that do not say theirs.
    """

    length: int = 1000
    overlap: int = 0
    language: str = "en"


@dataclass(frozen=True)
class Piece:
    """A passage: its place in the document's text, and the places of its sentences in the passage, in characters."""

    start: int
    end: int
    sentences: tuple[Place, ...]


def pieces(document: Document, cut: Cut) -> list[Piece]:
    """Return the passages of a document: those that the data gives as they are, else cut at sentence ends.

    A sentence that is longer than a passage may be is cut between words. Raises `InputError` where a library of the
    extra `morphology` is missing for a language.
    """
    language = document.language or cut.language
    if document.parts:
        return [_given(document.text, part, part.language or language) for part in document.parts]
    places = _sentences(document.text, language)
    places = [part for place in places for part in _shortened(document.text, place, cut.length)]
    return [_piece(places[first:last]) for first, last in _groups(places, cut)]


def _given(text, part, language):
    places = part.sentences or tuple(_sentences(text[part.start : part.end], language))
    return Piece(part.start, part.end, places)


def _piece(places):
    start = places[0][0]
    return Piece(start, places[-1][1], tuple((first - start, last - start) for first, last in places))


def _sentences(text: str, language: str) -> list[Place]:
    places: list[Place] = []
    for start, end in _stretches(text):
        stretch = text[start:end]
        if stretch.strip():
            places += [(start + first, start + last) for first, last in sentences_in(stretch, language)]
    return places


def _stretches(text: str) -> Iterator[Place]:
    """The text in stretches that end with a paragraph, else a line, else a word, else anywhere."""
    start = 0
    while len(text) - start > STRETCH:
        ends = (text.rfind(mark, start, start + STRETCH) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > start + STRETCH // 2), start + STRETCH)
        yield start, end
        start = end
    yield start, len(text)


def _shortened(text: str, place: Place, length: int) -> Iterator[Place]:
    """A sentence in parts of at most `length` characters, cut behind the last blank that leaves half of that."""
    start, end = place
    while end - start > length:
        blanks = [match.start() for match in BLANK.finditer(text, start + length // 2, start + length + 1)]
        stop = blanks[-1] if blanks else start + length
        yield start, stop
        start = stop + len(text[stop:end]) - len(text[stop:end].lstrip())
    yield start, end


def _groups(places: Sequence[Place], cut: Cut) -> Iterator[tuple[int, int]]:
    """First sentence and the one behind the last of each passage."""
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
