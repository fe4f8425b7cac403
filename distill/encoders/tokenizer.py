"""SentencePiece as mUSE uses it: bos, the pieces, eos."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EncoderError, InputError
from ..system.text import well_formed

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from ..system.types import File


class Tokenizer:
    """Text -> ids. `proto` is a serialised SentencePiece model.

    Raises `EncoderError` when the bytes are no SentencePiece model or it has no bos and eos.
    """

    def __init__(self, proto: bytes, source: str = "the tokenizer") -> None:
        self.proto, self.source = proto, source
        if min(self._processor.bos_id(), self._processor.eos_id()) < 0:
            raise EncoderError(f"{source}: the SentencePiece model has no bos or eos piece; train it with both")

    @classmethod
    def load(cls, path: File) -> Tokenizer:
        """Return the tokenizer in a file. Raises `EncoderError` where it cannot be read or holds none."""
        try:
            return cls(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise EncoderError(f"{path}: cannot be read: {error.strerror}") from error

    @cached_property
    def _processor(self):
        import sentencepiece

        if not self.proto:  # SentencePiece takes it for "load nothing"
            raise EncoderError(f"{self.source}: not a SentencePiece model: it is empty")
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self.proto)
        except (RuntimeError, TypeError) as error:
            raise EncoderError(f"{self.source}: not a SentencePiece model") from error

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, bos + pieces + eos. Lone surrogates become U+FFFD."""
        if isinstance(texts, str):
            raise InputError(f"expected a list of texts, got one text; give [{texts[:20]!r}]")
        if not texts:
            return []
        return self._processor.encode([well_formed(text) for text in texts], add_bos=True, add_eos=True)

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Return each text as it is cut into pieces: normalised, a space as U+2581."""
        return [self._processor.normalize(well_formed(text)) for text in texts]


SPACE = "\u2581"  # SentencePiece's mark for a space


def model_proto(tokenizer: Tokenizer) -> Message:
    """Return the `ModelProto` of a `Tokenizer`, a copy."""
    return _parsed(tokenizer.proto)


def empty_proto() -> Message:
    """Return a `ModelProto` without pieces, to be filled."""
    return _parsed(b"")


def _parsed(proto):
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(proto)  # type: ignore[attr-defined]
