"""The place of an answer in its passage, given by the data or found by its text."""

from __future__ import annotations

import re

from .examples import Span


def find_place_at(passage: str, answer: str, start: int) -> Span | None:
    """Return the place of an answer that begins at a given character.

    Runs of blanks count as one and blanks at the ends do not count, as some data sets have them in only one of the two
    texts.

    Returns:
        `(start, end)` in characters; None if another text is there.
    """
    pattern = _pattern(answer)
    match = pattern.match(passage, start) if pattern and 0 <= start < len(passage) else None
    return match.span(1) if match else None


def find_only_place(passage: str, answer: str) -> Span | None:
    """Return the place of an answer that occurs exactly once in its passage.

    Returns:
        `(start, end)` in characters; None if it occurs nowhere or more than once.
    """
    pattern = _pattern(answer)
    places = [match.span(1) for match in pattern.finditer(passage)] if pattern else []
    return places[0] if len(places) == 1 else None


def is_inside(passage: str, answer: str) -> bool:
    """Return True if the text of an answer occurs in its passage."""
    pattern = _pattern(answer)
    return bool(pattern and pattern.search(passage))


def _pattern(answer):
    words = r"\s+".join(map(re.escape, answer.split()))
    return re.compile(rf"\s*({words})") if words else None
