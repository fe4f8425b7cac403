"""Parse the sentence boundaries that data has, [[start, end], …] in characters of a paragraph or passage."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import DataError
from ...system.types import Json

BREAKS = "sentence_breaks"


def parse_sentences(value: Mapping[str, Json], text: str) -> tuple[tuple[int, int], ...]:
    """Return the boundaries of a paragraph, empty if they are malformed, which only LAReQA refuses."""
    try:
        return tuple(parse_breaks(value, text, "")) if BREAKS in value else ()
    except DataError:
        return ()


def parse_breaks(value: Mapping[str, Json], text: str, place: str) -> list[tuple[int, int]]:
    """Return the boundaries of a paragraph.

    Returns:
        The boundaries `(start, end)`.

    Raises:
        DataError: Unless they are ascending, inside the text, and not blank.
    """
    breaks = value.get(BREAKS)
    if not isinstance(breaks, list) or not breaks:
        raise DataError(f"{place}: expected [[start, end], …] under {BREAKS!r}, got {breaks!r}")
    last = 0
    for pair in breaks:
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair)):
            raise DataError(f"{place}: expected [[start, end], …] under {BREAKS!r}, got {pair!r}")
        start, end = pair
        if not last <= start < end <= len(text):
            raise DataError(
                f"{place}: the sentence {pair} is empty, before the end of the one before it, "
                f"or beyond its paragraph of {len(text)} characters"
            )
        if not text[start:end].strip():
            raise DataError(f"{place}: the sentence {pair} is blank")
        last = end
    return [tuple(pair) for pair in breaks]
