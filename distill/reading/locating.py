"""The place of an answer in its passage, where the data gives it and where it does not."""

from __future__ import annotations

import re

from .examples import Span


def place_at(passage: str, answer: str, start: int) -> Span | None:
    """Return the place of an answer that begins at a character; None where another text stands there.

    Runs of blanks count as one, and those around it as none: some data sets have them in one of both alone.
    """
    pattern = _pattern(answer)
    match = pattern.match(passage, start) if pattern and 0 <= start < len(passage) else None
    return match.span(1) if match else None


def only_place(passage: str, answer: str) -> Span | None:
    """Return the one place of an answer in its passage; None where it is in no place, or in more than one."""
    pattern = _pattern(answer)
    places = [match.span(1) for match in pattern.finditer(passage)] if pattern else []
    return places[0] if len(places) == 1 else None


def is_inside(passage: str, answer: str) -> bool:
    """Return True where the text of an answer is in its passage, in whatever places."""
    pattern = _pattern(answer)
    return bool(pattern and pattern.search(passage))


def _pattern(answer):
    words = r"\s+".join(map(re.escape, answer.split()))
    return re.compile(rf"\s*({words})") if words else None
