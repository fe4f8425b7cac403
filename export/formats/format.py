"""Define what a format of artefacts consists of, look formats up by name, and load artefacts by their label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from ...encoders.encoder import Encoder
from ...errors import EncoderError, ExportError, InputError
from ...settings.choices import FORMATS
from ...system.hashes import join_hashes
from ...system.types import File, Floats, Json
from .. import encode
from ..weights.codecs import TableEdit
from ..weights.precision import Precision

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder


@dataclass(frozen=True)
class Lengths:
    """The numbers of tokens that an artefact accepts, including bos and eos; without either, any number."""

    fixed: int | None = None
    signatures: tuple[int, ...] = ()

    @property
    def longest(self) -> int | None:
        """The largest number of tokens of a text, or None for any number."""
        return max(self.signatures, default=self.fixed)


@dataclass(frozen=True)
class Label:
    """The entries of a card that loading needs; without a `max_length` texts may have any length."""

    name: str
    format: str
    dimension: int
    max_length: int | None
    files: tuple[str, ...]


class Artefact(Encoder, Protocol):
    """An exported encoder; `max_length` is the largest number of tokens of a text, or None for any number."""

    max_length: int | None

    def tokenize(self, text: str) -> Sequence[int]:
        """Tokenize a text to ids, including bos and eos."""


def _leave_files(folder: Path, said: Mapping[str, Json], weight: float) -> None:
    """Leave the files as they are, because the format's readers read the card."""


def _refuse_to_read(content: bytes, rows: int, codec: str, remade: TableEdit | None = None) -> NoReturn:
    raise ExportError("weights in this format cannot be read back")


@dataclass(frozen=True)
class Format:
    """A format: how a student is written as an artefact, and how the artefact is run.

    Args:
        write: A function `write(student, folder, precision, lengths)` that writes the files into an existing folder.
        load: A function `load(folder, label, threads)` that returns the encoder.
        how_to: The README's section on using the artefact, in which `{dimension}` and `{max_length}` are filled in.
        needs: The packages that the format needs beyond the default installation.
        worker: The loader in `bench/worker.py` that runs the artefact without this package, if there is one.
        fixable: True if the artefact can have a fixed number of tokens; otherwise it accepts texts of any length.
        length: The default of a format that needs a fixed number of tokens.
        weights: A function `weights(content, rows, codec)` from the content of `file`, whose table has so many rows and
            is stored by a codec, to the student's weights by name. It raises `ExportError` or `ValueError` if the file
            is not an artefact's or the format cannot be read.
        table: A function `table(content, rows, codec)` that returns only the table, if that is cheaper than all
            weights.
        with_table: A function `with_table(content, rows, codec, remade)` that returns the file with the table's arrays
            replaced by what `remade` makes of them. It raises errors as `weights` does.
        arrays: A function `arrays(content, rows)` that returns the arrays that store the table. A format without it
            does not keep the codes of the artefact that an encoder came from.
        keeps: True if the format copies the weights of a bundle as they are stored.
        library: The library that reads a folder of this format from the model hub. Such a folder has float32 weights
            only.
        others: The share of dev questions whose token ids may differ; these are left out of the gate's cosines.
        expanded: False if spellings have ids of their own, which are expanded behind the tokenizer.
        reads: True if the format supports prompts before a text and truncates long texts, if the tokenizer does.
        add_answerable: A function `add_answerable(folder, said, weight)` that adds the card's calibration of answers
            and its passage's weight to the written files, for a format that is read without the card.
    """

    name: str
    file: str
    write: Callable[[KerasEncoder, Path, Precision, Lengths], None]
    load: Callable[[Path, Label, int], Artefact]
    how_to: str
    needs: tuple[str, ...] = ()
    extra: str = ""
    worker: str = ""
    fixable: bool = False
    signatures: bool = False
    length: int | None = None
    weights: Callable[[bytes, int, str], dict[str, Floats]] = _refuse_to_read
    table: Callable[[bytes, int, str], Floats] | None = None
    with_table: Callable[[bytes, int, str, TableEdit], bytes] = _refuse_to_read
    arrays: Callable[[bytes, int], tuple[np.ndarray, ...]] | None = None
    keeps: bool = False
    library: str = ""
    others: float = 0.0
    expanded: bool = True
    reads: bool = False
    add_answerable: Callable[[Path, Mapping[str, Json], float], None] = _leave_files


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
