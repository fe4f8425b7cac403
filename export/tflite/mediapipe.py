"""Write and run artefacts for MediaPipe's TextEmbedder."""

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
from ...system.extras import install_command
from ...system.text import make_well_formed
from ...system.types import Floats, Progress, Role
from . import mediapipe_worker
from .packing import rename_operator
from .strings import MEDIAPIPE_OPERATOR, OPERATOR, StringRuntime

# The members that MediaPipe looks for in the zip, and the alignment that it needs to map them into memory.
MODEL_MEMBER, TOKENIZER_MEMBER, ALIGNMENT = "encoder.tflite", "sentencepiece.model", 16
# The size of a zip member's header before its name; the extra field and the content follow.
HEADER = 30


def to_mediapipe(content: bytes) -> bytes:
    """Rename the tokenizer's operator in a string model to the name that MediaPipe registers."""
    return rename_operator(content, OPERATOR, MEDIAPIPE_OPERATOR)


def write_zip(path: Path, content: bytes, proto: bytes) -> None:
    """Write a zip with a flatbuffer `(1, t)` -> `(1, d)` and its tokenizer, stored at the root and aligned."""
    with open(path, "wb") as file, ZipFile(file, "w", ZIP_STORED) as archive:
        for name, member in ((TOKENIZER_MEMBER, proto), (MODEL_MEMBER, content)):
            info = ZipInfo(name)  # of a fixed date
            start = file.tell() + HEADER + len(name)
            info.extra = _alignment_field(-start % ALIGNMENT)
            archive.writestr(info, member)


def read_tokenizer(path: Path) -> bytes:
    """Return the SentencePiece model in a zip of `write_zip`."""
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
            if sorted(names) == sorted((TOKENIZER_MEMBER, MODEL_MEMBER)):
                return archive.read(TOKENIZER_MEMBER)
    except Exception as error:  # a broken zip may raise any error
        raise EncoderError(f"{path}: the zip cannot be read: {first_line(error)}; export it again") from error
    raise EncoderError(f"{path}: expected only {TOKENIZER_MEMBER} and {MODEL_MEMBER}, got {names}; export it again")


def _alignment_field(size):
    """Return an extra field for a zip member's header, of `size` bytes modulo the alignment."""
    if size == 0:
        return b""
    size += ALIGNMENT if size < 4 else 0
    # Android's zipalign pads under this identifier.
    return (0xD935).to_bytes(2, "little") + (size - 4).to_bytes(2, "little") + bytes(size - 4)


def load_string_tokenizer(path: Path) -> Callable[[str], list[int]]:
    """Return the tokenizer of a `mediapipe` artefact as a function of a text."""
    return StringRuntime(rename_operator(path.read_bytes(), MEDIAPIPE_OPERATOR, OPERATOR)).tokenize


def load_zip_tokenizer(path: Path) -> Callable[[str], list[int]]:
    """Return the tokenizer of a `mediapipe-zip` artefact as a function of a text."""
    # The model expands the ids of spellings.
    tokenizer = Tokenizer(read_tokenizer(path), str(path))
    return lambda text: tokenizer.encode([text])[0]


class MediaPipeEncoder:
    """A `mediapipe` or `mediapipe-zip` artefact as an `Encoder`, run by MediaPipe in a process of its own.

    MediaPipe aborts its process on a tokenizer that it cannot read, and no longer works after a text that is too long,
    so it does not share ours. It also looks up a host of its maker, so it gets no network if the system can withhold
    it.
    """

    def __init__(
        self, path: Path, name: str, dimension: int, tokenize: Callable[[str], list[int]], max_length: int | None = None
    ) -> None:
        self.path, self.name, self.dimension = path, name, dimension
        self.tokenize, self.max_length = tokenize, max_length

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts; raise `EncoderError` before a text of more than `max_length` tokens reaches MediaPipe."""
        texts = [make_well_formed(text) for text in texts]
        self._require_length(texts)
        command = [*network_isolation_words(), sys.executable, mediapipe_worker.__file__, str(self.path)]
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
                    f"{self.path.name} accepts texts of at most {self.max_length} tokens, including bos and eos; "
                    f"text {number} of {len(texts)} has {pieces}: {text[:40]!r}"
                )


def _reason(done):
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    if any("No module named 'mediapipe'" in line for line in lines):
        return f"it is not installed; run: {install_command('mediapipe')}"
    return lines[-1] if lines else f"its process ended with {done.returncode}"


def network_isolation_words() -> list[str]:
    """Return the words before a command that run it without a network, none if the system cannot do that."""
    words = ["unshare", "--map-root-user", "--net"]
    if shutil.which(words[0]) and not subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        return words
    return []
