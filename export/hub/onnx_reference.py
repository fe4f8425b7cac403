"""Load a folder of an ONNX model and `tokenizer_files` with the two packages that FastEmbed runs it with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.tokenizer import parse_reading
from ...errors import EncoderError, first_line
from ...system.input_files import read_json
from ...system.text import make_well_formed
from ...system.types import Floats, Progress, Role
from ..encode import READING, Reading
from .tokenizer_files import LONGEST, SETTINGS
from .tokenizer_json import FILE

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


class OnnxFolderEncoder:
    """A folder of an ONNX model as an `Encoder`.

    Args:
        model: The name of the model's file.
        dimension: The number of components of a vector.
        threads: The number of threads that onnxruntime uses.

    Raises:
        EncoderError: If the folder cannot be opened.
    """

    max_length: int | None = None

    def __init__(self, folder: Path, model: str, name: str, dimension: int, threads: int = 1) -> None:
        self.name, self.dimension, self._reading = name, dimension, load_reading(folder)
        try:
            self._tokenizer = _tokenizer(folder)
            self._session = _session(folder / model, threads)
        except Exception as error:  # the packages' errors have no common type
            raise EncoderError(f"{folder}: cannot be opened: {first_line(error)}; export it again") from error

    def tokenize(self, text: str) -> list[int]:
        """Tokenize a question to ids, including bos and eos; a spelling has an id of its own."""
        return self._ids(text, "question")

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts.

        Args:
            role: Whether the texts are questions or documents.
            progress: Called with 1 after each text.

        Returns:
            Vectors of unit length, float32 `(n, dimension)`.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = np.array([self._ids(text, role)], dtype=np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            vectors[row] = self._session.run(["vectors"], inputs)[0][0]
            if progress:
                progress(1)
        return vectors

    def _ids(self, text, role):
        return self._tokenizer.encode(self._reading.prompts.get(role, "") + make_well_formed(text)).ids


def load_reading(folder: Path) -> Reading:
    """Load how a folder's texts are read, which is plainly if there is no file for it.

    Raises:
        EncoderError: If the file is not valid.
    """
    path = folder / READING
    return parse_reading(path.read_bytes(), str(path)) if path.is_file() else Reading()


def _tokenizer(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / FILE))
    tokenizer.enable_truncation(read_json(folder / SETTINGS)[LONGEST])
    return tokenizer


def _session(path: Path, threads: int) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
