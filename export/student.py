"""Load the student in an artefact with float weights to train on: what the artefact stores, dequantised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..encoders.encoder import Encoder, KerasEncoder, encode_texts
from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError, ExportError
from ..students.origin import MUSE, read_origin
from ..system.backend import start
from ..system.types import File, Floats, Json, Progress, Role
from . import encode
from .form import Form
from .formats.format import as_encoder_error, format_of
from .weights.codecs import CODECS, MIXED_CODECS
from .weights.precision import Precision
from .weights.stored_table import StoredTable

if TYPE_CHECKING:
    from ..students.student import Student

T = TypeVar("T")


class StoredEncoder(KerasEncoder):
    """A bundle for the formats that take its weights as they are stored: its own runtime computes the vectors."""

    def __init__(self, folder: File, threads: int = 1) -> None:
        folder = Path(folder)
        card = read_checked_card(folder)
        self._folder, self._threads, self._dimension = folder, threads, int(card["dimension"])
        self.tokenizer, self.name = Tokenizer.load(folder / encode.TOKENIZER), folder.resolve().name
        self._origin = read_origin(card)

    @property
    def origin(self) -> dict[str, Json] | None:
        """The owner and the licence of the weights that the bundle was initialised from, as its card says."""
        return self._origin.as_dict()

    @cached_property
    def _bundle(self) -> Encoder:
        from .formats.format import load_artefact

        return load_artefact(self._folder, self._threads)

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""
        return self._dimension

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts with the bundle. Returns vectors of unit length, float32 `(n, d)`."""
        return encode_texts(self._bundle, texts, role, progress, contexts)


def load_student(folder: File) -> KerasEncoder:
    """Load the student of an artefact, whose vectors are those of the artefact except for rounded activations.

    Layers that the export merged stay merged. Raises `EncoderError` if the artefact is incomplete or damaged, or its
    format or precision has no weights to read.
    """
    folder = Path(folder)
    card = read_checked_card(folder)
    start()
    tokenizer = Tokenizer.load(folder / encode.TOKENIZER)
    return KerasEncoder(_load_model(folder, card, len(tokenizer)), tokenizer, folder.resolve().name)


def read_checked_card(folder: Path) -> dict[str, Json]:
    """Return the card of a complete artefact with a tokenizer and a table."""
    with as_encoder_error():
        known = encode.read_card(folder)
        encode.check_files(folder, known)
    card: dict[str, Json] = {**known}
    said = card.get("precision")
    precision = said if isinstance(said, dict) else {}
    if card["format"] not in encode.MODELS:
        formats = " and ".join(encode.MODELS)
        raise EncoderError(f"{folder}: expected the format {formats} to read weights from, got {card['format']!r}")
    choices = {"dense": ("int8", "float32", "int4"), "table": tuple(CODECS)}
    if "table" not in precision or any(value not in choices.get(name, ()) for name, value in precision.items()):
        expected = "; ".join(f"{name} in one of {', '.join(names)}" for name, names in choices.items())
        raise EncoderError(f"{folder}: expected a precision of {expected}, got {said!r}; export it again")
    return card


def form_of_bundle(folder: Path, form: Form) -> Form:
    """Return a form with the precision, the lengths and the stored weights of a bundle."""
    card = read_checked_card(folder)
    content = (folder / encode.MODELS["bundle"]).read_bytes()
    precision = Precision(**card["precision"], content=content)
    if form.format == "bundle" and (signatures := tuple(card.get("signatures", ()))):
        return replace(form, precision=precision, signatures=signatures)
    lengths = [length for length in (form.max_length, card["max_length"]) if length]
    return replace(form, precision=precision, max_length=min(lengths, default=None))


def _load_model(folder: Path, card: dict[str, Json], rows: int) -> Student:
    from ..students.project import build_student

    try:
        model = build_student(_load_weights(folder, card, rows), "student")
    except (KeyError, ValueError) as error:
        raise _unreadable_error(folder, card, error) from error
    if (origin := read_origin(card)) != MUSE:
        model.origin = origin.as_dict()
    return model


def _load_weights(folder: Path, card: dict[str, Json], rows: int) -> dict[str, Floats]:
    return _read(format_of(card["format"]).weights, folder, card, rows)


def _read(read: Callable[[bytes, int, str], T], folder: Path, card: dict[str, Json], rows: int) -> T:
    """Call `read`, a function of a format, on the format's file, and raise its errors as `EncoderError`."""
    try:
        return read((folder / format_of(card["format"]).file).read_bytes(), rows, card["precision"]["table"])
    except (ExportError, KeyError, ValueError) as error:
        raise _unreadable_error(folder, card, error) from error


def _unreadable_error(folder, card, error):
    return EncoderError(f"{folder}: no weights can be read from {format_of(card['format']).file}: {error}")


def load_table(folder: File, rows: int) -> Floats:
    """Load the embedding table of an artefact, float32 `(rows, width)`, without Keras; raise as `load_student`."""
    folder = Path(folder)
    card = read_checked_card(folder)
    format_ = format_of(card["format"])
    if format_.table is None:
        return _load_weights(folder, card, rows)["embedding/embeddings"]
    return _read(format_.table, folder, card, rows)


def load_codewords(folder: File, codec: str, like: KerasEncoder) -> StoredTable | None:
    """Load the codewords of an artefact's embedding table for an encoder that started from it, as it has them now.

    The result is None if the table has another format than `codec` or only one part, or if the encoder has other tokens
    or another width.
    """
    folder = Path(folder)
    card = read_checked_card(folder)
    format_ = format_of(card["format"])
    if card["precision"]["table"] != codec or codec not in MIXED_CODECS or not format_.arrays:
        return None
    if (folder / encode.TOKENIZER).read_bytes() != like.tokenizer.proto:
        return None
    rows, width = like.model.get_layer("embedding").embeddings.shape
    arrays = format_.arrays((folder / format_.file).read_bytes(), rows)
    # A student of another shape may have the same tokens.
    ours = CODECS[codec].rows(np.zeros((1, width), dtype=np.float32))
    if [array.shape[1:] for array in arrays] != [array.shape[1:] for array in ours]:
        return None
    return StoredTable(arrays, rows, width).follow(np.asarray(like.model.get_layer("embedding").embeddings))
