"""The formats mediapipe and mediapipe-zip, which MediaPipe's TextEmbedder runs as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..weights.precision import Precision
from .format import Artefact, Format, Label, Lengths, require_only_file

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

MODEL, ZIP, ZIP_LENGTH = "encoder.tflite", "encoder.task", 512
HOW_TO = "`{}` is for MediaPipe's TextEmbedder: give it as `model_asset_path`."
ZIP_HOW_TO = f"""{HOW_TO.format(ZIP)}
A text may have {{max_length}} tokens, including bos and eos. Count them first: a longer text is an error there."""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..tflite.mediapipe import to_mediapipe
    from ..tflite.strings import convert_string

    content = convert_string(student.model, student.tokenizer, precision)
    (folder / MODEL).write_bytes(to_mediapipe(content))


def _write_zip(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..tflite.convert import convert
    from ..tflite.mediapipe import write_zip

    content = convert(student.model, precision, lengths.fixed, sliced=True, tokenizer=student.tokenizer)
    write_zip(folder / ZIP, content, student.tokenizer.proto)


def _load(folder: Path, label: Label, threads: int) -> Artefact:
    path = require_only_file(folder, label, MODEL)
    from ..tflite.mediapipe import MediaPipeEncoder, load_string_tokenizer

    return MediaPipeEncoder(path, label.name, label.dimension, load_string_tokenizer(path))


def _load_zip(folder: Path, label: Label, threads: int) -> Artefact:
    path = require_only_file(folder, label, ZIP)
    from ..tflite.mediapipe import MediaPipeEncoder, load_zip_tokenizer

    return MediaPipeEncoder(path, label.name, label.dimension, load_zip_tokenizer(path), label.max_length)


FORMATS = (
    Format(
        "mediapipe",
        MODEL,
        _write,
        _load,
        HOW_TO.format(MODEL),
        needs=("mediapipe",),
        extra="mediapipe",
        worker="mediapipe",
        expanded=False,
    ),
    Format(
        "mediapipe-zip",
        ZIP,
        _write_zip,
        _load_zip,
        ZIP_HOW_TO,
        needs=("mediapipe",),
        extra="mediapipe",
        worker="mediapipe",
        expanded=False,
        fixable=True,
        length=ZIP_LENGTH,
    ),
)
