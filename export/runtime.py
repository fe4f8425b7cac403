"""An artefact as an `Encoder`, by the runtime that its format is for."""

from __future__ import annotations

from pathlib import Path

from ..settings.choices import FORMATS
from ..system.types import File
from .formats.folder import read_label, unknown_format
from .formats.format import Artefact
from .formats.registry import format_of


def load_artefact(folder: File, threads: int = 1) -> Artefact:
    """The artefact in `folder`. Raises `EncoderError` when it is not whole."""
    folder = Path(folder)
    label = read_label(folder)
    if label.format not in FORMATS:
        raise unknown_format(folder, label)
    return format_of(label.format).load(folder, label, threads)


def size_of(path: File) -> int:
    """Bytes on disk of the files in a folder, or of a file."""
    path = Path(path)
    files = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    return sum(part.stat().st_size for part in files)
