"""The file beside a tokenizer's that says how texts are read: prompts by role, and the most ids of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import EncoderError, first_line

if TYPE_CHECKING:
    from ..export.encode import Reading

FILE = "reading.json"


def reading_of(content: bytes, source: str) -> Reading:
    """Return the `Reading` in the content of a file. Raises `EncoderError` for another file's."""
    # The script of each bundle has it, which imports SentencePiece.
    from ..export.encode import Reading

    try:
        return Reading.of(content)
    except (ValueError, RecursionError) as error:
        raise EncoderError(f"{source}: says nothing of how texts are read: {first_line(error)}") from error
