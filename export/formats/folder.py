"""The folder of an artefact: its card read, its files checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import EncoderError
from ...system.hashes import joint
from ...system.types import File
from .. import encode
from .format import Label


def read_label(folder: File) -> Label:
    """The `Label` of the artefact in `folder`. Raises `EncoderError`."""
    with as_encoder_error():
        card = encode.read_card(Path(folder))
    return Label(card["name"], card["format"], card["dimension"], card["max_length"], tuple(card["files"]))


def bundle_fingerprint(folder: File) -> str | None:
    """The identity of the encoder of a bundle: the sha256 of its card's hashes of the model and the tokenizer's files.

    None for an artefact of another format. Raises `EncoderError`.
    """
    with as_encoder_error():
        files = encode.read_card(Path(folder))["files"]
    names = (encode.MODELS["bundle"], encode.TOKENIZER)
    if not all(name in files for name in names):
        return None
    return joint(files[name]["sha256"] for name in (*names, encode.SPELLINGS, encode.READING) if name in files)


def whole_file(folder: Path, label: Label, name: str) -> Path:
    """The path of a file of an artefact. Raises `EncoderError` where one is changed, or the card does not list it."""
    with as_encoder_error():
        encode.check_files(folder, encode.read_card(folder))
    if name not in label.files:
        raise unknown_format(folder, label)
    return folder / name


def require_whole(folder: Path) -> Path:
    """Return the folder of an artefact whose files, in folders of their own too, are those of its card.

    Raises `EncoderError` where one is missing or changed.
    """
    with as_encoder_error():
        card = encode.read_card(folder)
        for name, said in card["files"].items():
            path = folder / name
            if ".." in path.parts or not path.parent.is_dir():
                raise EncoderError(f"{folder}: {name} is missing; {encode.AGAIN}")
            encode.check_files(path.parent, {**card, "files": {path.name: said}})
    return folder


def one_file(folder: Path, label: Label, name: str) -> Path:
    """The path of an artefact's only file. Raises `EncoderError` where it is changed, or is not what the card lists."""
    path = whole_file(folder, label, name)
    if label.files != (name,):
        raise unknown_format(folder, label)
    return path


def unknown_format(folder: Path, label: Label) -> EncoderError:
    """The error for a folder whose files are not those of the format that its card names."""
    return EncoderError(f"{folder}: no artefact of a known format, {encode.CARD} says {label.format!r}")


@contextmanager
def as_encoder_error() -> Iterator[None]:
    """Errors of `encode.py`, which has to do without ours, as `EncoderError`."""
    try:
        yield
    except (encode.BundleError, encode.TextError) as error:
        raise EncoderError(str(error)) from error
