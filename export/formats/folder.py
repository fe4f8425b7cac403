"""Read the card of an artefact's folder and check its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import EncoderError
from ...system.hashes import join_hashes
from ...system.types import File
from .. import encode
from .format import Label


def read_label(folder: File) -> Label:
    """Read what loading needs from the card of an artefact. Raises `EncoderError` if there is no valid card."""
    with as_encoder_error():
        card = encode.read_card(Path(folder))
    return Label(card["name"], card["format"], card["dimension"], card["max_length"], tuple(card["files"]))


def bundle_fingerprint(folder: File) -> str | None:
    """Compute the identity of a bundle's encoder from the hashes of its model and its tokenizer's files.

    It is a sha256 in hexadecimal digits, or None for an artefact of another format. Raises `EncoderError` if there is
    no valid card.
    """
    with as_encoder_error():
        files = encode.read_card(Path(folder))["files"]
    names = (encode.MODELS["bundle"], encode.TOKENIZER)
    if not all(name in files for name in names):
        return None
    return join_hashes(files[name]["sha256"] for name in (*names, encode.SPELLINGS, encode.READING) if name in files)


def require_whole_file(folder: Path, label: Label, name: str) -> Path:
    """Return the path of a file of the card, or raise `EncoderError` if any file of the artefact was changed."""
    with as_encoder_error():
        encode.check_files(folder, encode.read_card(folder))
    if name not in label.files:
        raise unknown_format_error(folder, label)
    return folder / name


def locate_file(folder: Path, name: str) -> Path:
    """Return the file of a checked artefact. In a checkout the encoders of the package share their `encode.py`."""
    path = folder / name
    return path if path.is_file() else encode.SCRIPT


def require_whole_folder(folder: Path) -> Path:
    """Check all files of an artefact, including those in subfolders, and return its folder."""
    with as_encoder_error():
        card = encode.read_card(folder)
        for name, said in card["files"].items():
            path = folder / name
            if ".." in path.parts or not path.parent.is_dir():
                raise EncoderError(f"{folder}: {name} is missing; {encode.AGAIN}")
            encode.check_files(path.parent, {**card, "files": {path.name: said}})
    return folder


def require_only_file(folder: Path, label: Label, name: str) -> Path:
    """Return the path of an artefact's only file; raise `EncoderError` if it was changed or the card lists others."""
    path = require_whole_file(folder, label, name)
    if label.files != (name,):
        raise unknown_format_error(folder, label)
    return path


def unknown_format_error(folder: Path, label: Label) -> EncoderError:
    """Return the error for a folder whose files are not those of the format that its card names."""
    return EncoderError(f"{folder}: its files are not of a known format; {encode.CARD} says {label.format!r}")


@contextmanager
def as_encoder_error() -> Iterator[None]:
    """Raise the errors of `encode.py`, which cannot import this package's, as `EncoderError`."""
    try:
        yield
    except (encode.BundleError, encode.TextError) as error:
        raise EncoderError(str(error)) from error
