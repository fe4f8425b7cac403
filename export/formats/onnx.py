"""An ONNX file with the tokenizer and `encode.py`, for servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import encode
from ..weights.precision import Precision
from .bundle import how_to, load_bundle, write_tokenizer
from .format import Format, Lengths

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..onnx.ngram import onnx_model

    (folder / encode.MODELS["onnx"]).write_bytes(onnx_model(student.model, precision.dense, precision.table))
    write_tokenizer(student, folder)


FORMATS = (
    Format(
        "onnx",
        encode.MODELS["onnx"],
        _write,
        load_bundle,
        how_to("onnxruntime"),
        needs=("onnx", "onnxruntime"),
        extra="onnx",
        worker="bundle",
    ),
)
