"""The format onnx: an ONNX model with the tokenizer and `encode.py`, for servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...system.types import Floats
from .. import encode
from ..weights.codecs import TableEdit
from ..weights.precision import Precision
from .bundle import load_bundle, usage_text, write_tokenizer
from .format import Format, Lengths

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..onnx.model import convert_to_onnx

    (folder / encode.MODELS["onnx"]).write_bytes(convert_to_onnx(student.model, precision.dense, precision.table))
    write_tokenizer(student, folder)


def _weights(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    from ..onnx.model import weights_in

    return weights_in(content, rows, codec)


def _with_table(content: bytes, rows: int, codec: str, remade: TableEdit) -> bytes:
    from ..onnx.model import with_table

    return with_table(content, codec, remade)


FORMATS = (
    Format(
        "onnx",
        encode.MODELS["onnx"],
        _write,
        load_bundle,
        usage_text("onnxruntime"),
        needs=("onnx", "onnxruntime"),
        extra="onnx",
        worker="bundle",
        reads=True,
        weights=_weights,
        with_table=_with_table,
    ),
)
