"""A file that documents are read from: where it lies, and by which spelling of its path they are called."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..system.types import File


@dataclass(frozen=True)
class Source:
    """A file: `path` to read it by, `name` in ids and messages, `place`, one of all paths that lead there."""

    path: Path
    name: str
    place: str


def place_of(path: File) -> str:
    """Return the one absolute path of a file or folder, however it is spelled; a link is not what it leads to."""
    absolute = os.path.abspath(path)
    if os.path.isdir(absolute):
        return os.path.realpath(absolute)
    folder, name = os.path.split(absolute)
    return os.path.join(os.path.realpath(folder), name)
