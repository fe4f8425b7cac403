"""The file beside a tokenizer that defines prompts by role and the largest number of ids of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import EncoderError, first_line

if TYPE_CHECKING:
    from ..export.encode import Reading

FILE = "reading.json"


def parse_reading(content: bytes, source: str) -> Reading:
    """Parse the content of such a file.

    Args:
        content: The content.
        source: The file's name, for errors.

    Returns:
        The prompts and limits.

    Raises:
        EncoderError: If the file is malformed.
    """
    # The script of each bundle has it, which imports SentencePiece.
    from ..export.encode import Reading

    try:
        return Reading.of(content)
    except (ValueError, RecursionError) as error:
        raise EncoderError(f"{source}: says nothing of how texts are read: {first_line(error)}") from error
