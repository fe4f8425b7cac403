"""Find formats by name, and load artefacts by theirs; each format is imported when it is looked up."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ...errors import InputError
from ...settings.choices import FORMATS
from ...system.types import File
from .. import encode
from .format import Artefact, Format, as_encoder_error, read_label, unknown_format_error


def format_of(name: str) -> Format:
    """Return the `Format` of a name in `settings.choices.FORMATS`, from the module that the name's first word names."""
    if name not in FORMATS:
        raise InputError(f"--format: expected one of {', '.join(FORMATS)}, got {name}")
    module = import_module(f".{name.partition('-')[0]}", __package__)
    return next(format_ for format_ in module.FORMATS if format_.name == name)


def load_artefact(folder: File, threads: int = 1) -> Artefact:
    """Load the artefact in a folder, with the `passage_weight` and the `calibrations` of its card.

    Raises `EncoderError` if it is incomplete, damaged or of an unknown format.
    """
    folder = Path(folder)
    label = read_label(folder)
    if label.format not in FORMATS:
        raise unknown_format_error(folder, label)
    artefact = format_of(label.format).load(folder, label, threads)
    with as_encoder_error():
        card = encode.read_card(folder)
        # Whatever the format, its vectors are those that the card's entries were fitted to.
        vars(artefact).update(passage_weight=encode.passage_weight(card), calibrations=encode.calibrations(card))
    return artefact


def size_of(path: File) -> int:
    """Return the size in bytes of a file, or of all files in a folder."""
    path = Path(path)
    files = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    return sum(part.stat().st_size for part in files)
