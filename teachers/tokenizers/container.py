"""Build a SentencePiece model from the tokens that another library's file lists, each at its id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...encoders.tokenizer import Tokenizer, empty_proto
from ...errors import EncoderError

if TYPE_CHECKING:
    from ...export.encode import Reading

Kind = Literal["NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "UNUSED", "BYTE"]
# The tokens of bytes, for characters without a token.
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


@dataclass(frozen=True)
class Ends:
    """The names of the tokens before and behind each text."""

    bos: str
    eos: str


@dataclass(frozen=True)
class Normalizer:
    """The settings of SentencePiece's normaliser: its map of characters and its blanks."""

    charsmap: bytes = b""
    dummy_prefix: bool = False
    one_blank: bool = False


@dataclass
class Vocabulary:
    """The tokens of a vocabulary, and how texts are cut: as "UNIGRAM" or "BPE", unknown characters maybe into bytes."""

    names: Sequence[str]
    scores: Sequence[float]
    model: Literal["UNIGRAM", "BPE"]
    unknown: str
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    byte_fallback: bool = False

    def tokenizer(self, ends: Ends, normalizer: Normalizer, source: str, reading: Reading | None = None) -> Tokenizer:
        """Build the tokenizer. Raises `EncoderError` if a token that it needs is missing."""
        known = set(self.names)
        needed = (self.unknown, ends.bos, ends.eos, *(BYTES if self.byte_fallback else ()))
        if missing := [name for name in needed if name not in known]:
            raise EncoderError(
                f"{source}: {missing[0]} is missing among {len(self.names)} pieces; save the model again"
            )
        proto = empty_proto()
        kinds = {**self.kinds, self.unknown: "UNKNOWN", ends.bos: "CONTROL", ends.eos: "CONTROL"}
        if self.byte_fallback:
            kinds |= dict.fromkeys(BYTES, "BYTE")
        ids = {name: id for id, name in reversed(list(enumerate(self.names))) if name}
        for id, (name, score) in enumerate(zip(self.names, self.scores, strict=True)):
            # SentencePiece accepts no name twice and no empty name; of equal ones the first counts.
            is_first = ids.get(name) == id
            kind = kinds.get(name, "NORMAL") if is_first else "UNUSED"
            proto.pieces.add(
                piece=name if is_first else f"<unused {id}>", score=score, type=getattr(proto.SentencePiece, kind)
            )
        trainer = proto.trainer_spec
        trainer.model_type, trainer.vocab_size = getattr(trainer, self.model), len(self.names)
        trainer.byte_fallback = self.byte_fallback
        trainer.unk_piece, trainer.bos_piece, trainer.eos_piece = self.unknown, ends.bos, ends.eos
        trainer.unk_id, trainer.bos_id, trainer.eos_id = ids[self.unknown], ids[ends.bos], ids[ends.eos]
        trainer.pad_id = -1
        proto.normalizer_spec.precompiled_charsmap = normalizer.charsmap
        proto.normalizer_spec.add_dummy_prefix = normalizer.dummy_prefix
        proto.normalizer_spec.remove_extra_whitespaces = normalizer.one_blank
        return Tokenizer(proto.SerializeToString(), source, reading=reading)
