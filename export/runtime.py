"""Load an artefact as an `Encoder`, run by the runtime that its format is meant for."""

from __future__ import annotations

from pathlib import Path

from ..settings.choices import FORMATS
from ..system.types import File
from .formats.folder import read_label, unknown_format_error
from .formats.format import Artefact
from .formats.registry import format_of


def load_artefact(folder: File, threads: int = 1) -> Artefact:
    """Load the artefact in a folder.

    Args:
        folder: The folder of the artefact.
        threads: The number of threads that the runtime uses.

    Returns:
        The artefact as an `Encoder`.

    Raises:
        EncoderError: If the artefact is incomplete or damaged, or its format is unknown.
    """
    folder = Path(folder)
    label = read_label(folder)
    if label.format not in FORMATS:
        raise unknown_format_error(folder, label)
    return format_of(label.format).load(folder, label, threads)


def size_of(path: File) -> int:
    """Return the size in bytes of a file, or of all files in a folder."""
    path = Path(path)
    files = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    return sum(part.stat().st_size for part in files)
