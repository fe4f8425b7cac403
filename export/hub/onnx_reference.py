"""The tokenizer files beside an ONNX model, as FastEmbed reads them, and the folder run with its two packages.

The tokenizer adds bos and eos and cuts at a maximum length.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.tokenizer import Tokenizer, parse_reading, whole_proto
from ...errors import EncoderError, ExportError, first_line
from ...system.input_files import read_json
from ...system.text import make_well_formed
from ...system.types import Floats, Json, Progress, Role
from ..encode import READING, Reading
from .modules import CONFIG, write_content
from .plain_tokenizer import plain_tokenizer_json, tokenizer_config
from .tokenizer_json import FILE, UNIGRAM, tokenizer_json

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer as LibraryTokenizer


SETTINGS = "tokenizer_config.json"
LONGEST = "model_max_length"
# The maximum length of texts of any length, because the file needs a number.
ANY = 2**31 - 1


def write_tokenizer_files(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files of a tokenizer; spellings get ids of their own, and prompts a file of their own."""
    names = [piece.piece for piece in whole_proto(tokenizer).pieces]
    settings = tokenizer_config(tokenizer, tokenizer.reading.longest or ANY)
    write_content(folder / FILE, _content(tokenizer))
    write_content(folder / SETTINGS, settings)
    write_content(folder / CONFIG, {"pad_token_id": names.index(settings["pad_token"])})
    # Versions before 0.9 need the file. It is empty, so that the name of a special token is tokenized like any text.
    write_content(folder / "special_tokens_map.json", {})
    if content := tokenizer.reading.content():
        (folder / READING).write_bytes(content)


def _content(tokenizer: Tokenizer) -> dict[str, Json]:
    proto = whole_proto(tokenizer)
    if tokenizer.reading.wordpiece or proto.trainer_spec.model_type != UNIGRAM:
        return plain_tokenizer_json(tokenizer)
    if tokenizer.spellings is not None and tokenizer.reading.longest:
        raise ExportError(
            f"{tokenizer.source}: it truncates texts behind spellings, which a tokenizer.json cannot; export it "
            "with --without-spellings"
        )
    content = tokenizer_json(tokenizer, template=True)
    if proto.normalizer_spec.precompiled_charsmap:
        # The package's own map of characters does not compose letters with their marks.
        content["normalizer"]["normalizers"].insert(0, {"type": "NFC"})
    return content


class OnnxFolderEncoder:
    """A folder of an ONNX model as an `Encoder`. Raises `EncoderError` if the folder cannot be opened."""

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
        """Encode texts. Returns vectors of unit length, float32 `(n, dimension)`."""
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
    """Load how a folder's texts are read, which is plainly if there is no file for it."""
    path = folder / READING
    return parse_reading(path.read_bytes(), str(path)) if path.is_file() else Reading()


def _tokenizer(folder: Path) -> LibraryTokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / FILE))
    tokenizer.enable_truncation(read_json(folder / SETTINGS)[LONGEST])
    return tokenizer


def _session(path: Path, threads: int) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
