"""Artefacts that MediaPipe's TextEmbedder runs as they are."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError, ExportError, first_line
from ...system.text import well_formed
from ...system.types import Floats, Progress, Role
from . import mediapipe_worker
from .flatbuffer import renamed
from .strings import MEDIAPIPE_OPERATOR, OPERATOR, StringRuntime

# What MediaPipe looks for in the zip, and the bytes that a member's start has to be a multiple of to be mapped.
MODEL_MEMBER, TOKENIZER_MEMBER, ALIGNMENT = "encoder.tflite", "sentencepiece.model", 16
# A zip member's header up to its name, which the extra field and the content follow.
HEADER = 30


def for_mediapipe(content: bytes) -> bytes:
    """A string model's flatbuffer with its tokenizer under the name that MediaPipe registers."""
    return renamed(content, OPERATOR, MEDIAPIPE_OPERATOR)


def write_zip(path: Path, content: bytes, proto: bytes) -> None:
    """The model `(1, t)` -> `(1, d)` and its SentencePiece model: stored at the root, aligned."""
    with open(path, "wb") as file, ZipFile(file, "w", ZIP_STORED) as archive:
        for name, member in ((TOKENIZER_MEMBER, proto), (MODEL_MEMBER, content)):
            info = ZipInfo(name)  # of a fixed date
            start = file.tell() + HEADER + len(name)
            info.extra = _filler(-start % ALIGNMENT)
            archive.writestr(info, member)


def read_tokenizer(path: Path) -> bytes:
    """The SentencePiece model, bytes, in what `write_zip` wrote. Raises `EncoderError` for a zip of anything else."""
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
            if sorted(names) == sorted((TOKENIZER_MEMBER, MODEL_MEMBER)):
                return archive.read(TOKENIZER_MEMBER)
    except Exception as error:  # a broken zip raises what its reading happens to
        raise EncoderError(f"{path}: not a zip that can be read: {first_line(error)}; export it again") from error
    raise EncoderError(f"{path}: expected {TOKENIZER_MEMBER} and {MODEL_MEMBER} alone, got {names}; export it again")


def _filler(size):
    """An extra field of a zip member's header, `size` bytes modulo the alignment."""
    if size == 0:
        return b""
    size += ALIGNMENT if size < 4 else 0
    # Android's zipalign pads under this identifier.
    return (0xD935).to_bytes(2, "little") + (size - 4).to_bytes(2, "little") + bytes(size - 4)


def string_ids(path: Path) -> Callable[[str], list[int]]:
    """The tokenizer in a `mediapipe` artefact, as a function of a text."""
    return StringRuntime(renamed(path.read_bytes(), MEDIAPIPE_OPERATOR, OPERATOR)).tokenize


def zip_ids(path: Path) -> Callable[[str], list[int]]:
    """The tokenizer in a `mediapipe-zip` artefact, as a function of a text. Raises `EncoderError`."""
    # Those of spellings are expanded by the model.
    tokenizer = Tokenizer(read_tokenizer(path), str(path))
    return lambda text: tokenizer.encode([text])[0]


class MediaPipeEncoder:
    """A `mediapipe` or `mediapipe-zip` artefact as an `Encoder`, run by MediaPipe in a process of its own.

    `tokenize` is `string_ids` or `zip_ids` of its file; `max_length` is None for texts of any length.
    MediaPipe aborts its process on a tokenizer that it cannot read and is dead after a text that is too long, so it
    does not share ours; and it looks up a host of its maker, so it gets no network where the system can withhold it.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        dimension: int,
        tokenize: Callable[[str], list[int]],
        max_length: int | None = None,
    ) -> None:
        self.path, self.name, self.dimension = path, name, dimension
        self.tokenize, self.max_length = tokenize, max_length

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """`[str]` -> float32 `(n, dimension)`.

        Raises `EncoderError` for a text of more than `max_length` pieces, which MediaPipe would not come back from,
        and `ExportError` when MediaPipe fails or is not installed.
        """
        texts = [well_formed(text) for text in texts]
        self._require_length(texts)
        command = [*without_network(), sys.executable, mediapipe_worker.__file__, str(self.path)]
        done = subprocess.run(command, input=json.dumps(texts).encode(), capture_output=True, check=False)
        if done.returncode:
            raise ExportError(f"MediaPipe cannot run {self.path.name}: {_reason(done)}")
        if progress:
            progress(len(texts))
        return np.load(io.BytesIO(done.stdout), allow_pickle=False).reshape(len(texts), self.dimension)

    def _require_length(self, texts):
        if self.max_length is None:
            return
        for number, text in enumerate(texts, start=1):
            pieces = len(self.tokenize(text))
            if pieces > self.max_length:
                raise EncoderError(
                    f"{self.path.name} takes texts of {self.max_length} pieces at most, bos and eos among them; "
                    f"text {number} of {len(texts)} has {pieces}: {text[:40]!r}"
                )


def _reason(done):
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    if any("No module named 'mediapipe'" in line for line in lines):
        return "it is not installed; run: pip install 'distill[mediapipe]'"
    return lines[-1] if lines else f"its process ended with {done.returncode}"


def without_network() -> list[str]:
    """The words before a command that run it without a network, none where the system has no such thing."""
    words = ["unshare", "--map-root-user", "--net"]
    if shutil.which(words[0]) and not subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        return words
    return []
