"""Read plain text files."""

from __future__ import annotations

from pathlib import Path

from ..system.reading import read_text
from .document import Content


def read_plain(path: Path) -> Content:
    """Return the text of a file. Raises `DataError` if it is not UTF-8."""
    return Content(read_text(path))
