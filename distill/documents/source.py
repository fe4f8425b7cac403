"""A file that documents are read from: its path, and its name in ids."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..system.types import File


@dataclass(frozen=True)
class Source:
    """A file: the `path` to read, the `name` in ids and messages, and the `place`, one of all paths that lead to it."""

    path: Path
    name: str
    place: str


def locate_file(path: File) -> str:
    """Return the one absolute path of a file or folder, however it is written. Links are not resolved."""
    absolute = os.path.abspath(path)
    if os.path.isdir(absolute):
        return os.path.realpath(absolute)
    folder, name = os.path.split(absolute)
    return os.path.join(os.path.realpath(folder), name)
