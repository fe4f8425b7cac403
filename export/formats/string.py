"""The format string: a TFLite model with its tokenizer inside, which needs tensorflow-text's operators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..weights.precision import Precision
from .format import Artefact, Format, Label, Lengths, require_only_file

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

MODEL = "encoder.tflite"
HOW_TO = f"""`{MODEL}` takes one string and contains its tokenizer; run it with tensorflow-text's operators
(`tensorflow_text.core.pybinds.tflite_registrar.SELECT_TFTEXT_OPS`)."""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..tflite.strings import convert_string

    (folder / MODEL).write_bytes(convert_string(student.model, student.tokenizer, precision))


def _load(folder: Path, label: Label, threads: int) -> Artefact:
    path = require_only_file(folder, label, MODEL)
    from ..tflite.strings import StringEncoder

    return StringEncoder(path, label.name, label.dimension)


FORMATS = (Format("string", MODEL, _write, _load, HOW_TO, expanded=False),)
