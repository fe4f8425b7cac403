"""Build a SentencePiece model from the tokens that another library's file lists, each at its id."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...encoders.tokenizer import SPACE, Tokenizer, empty_proto
from ...errors import EncoderError
from ...system.types import Json

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


# Unused tokens, which were reserved for later: no text is read as one.
FREE = re.compile(r"[<\[]unused[_ ]?\d+[>\]]", re.IGNORECASE)


def list_names(known: dict[str, int], added: Json, source: str) -> list[str]:
    """Return the names of all tokens by id, empty for unused ids; `EncoderError` if ids are far from consecutive."""
    ids = {**known, **{one["content"]: one["id"] for one in added or ()}}
    most = max(ids.values(), default=-1)
    if not ids or min(ids.values()) < 0 or most >= 2 * len(ids) + 1000:
        raise EncoderError(f"{source}: {len(ids)} pieces with ids up to {most}; save the model again")
    names = [""] * (most + 1)
    for name, id in ids.items():
        names[id] = name
    return names


def find_kinds(names: list[str], added: Json) -> dict[str, Kind]:
    """Return the kinds of the tokens that are not normal.

    No text is read as a special token, and any text may be read as another added one. Runs of blanks are normal tokens:
    SentencePiece's mark replaces the blanks in them.
    """
    kinds: dict[str, Kind] = {name: "UNUSED" for name in names if FREE.fullmatch(name)}
    for one in added or ():
        if one["special"]:
            kinds[one["content"]] = "CONTROL"
        elif one["content"] not in kinds and SPACE not in one["content"]:
            kinds[one["content"]] = "USER_DEFINED"
    return kinds


def find_ends(processor: Json, source: str) -> Ends:
    """Return the tokens that a `tokenizer.json`'s post-processor puts before and behind each text."""
    kind = processor["type"] if processor else None
    if kind in ("BertProcessing", "RobertaProcessing"):
        return Ends(processor["cls"][0], processor["sep"][0])
    if kind == "TemplateProcessing":
        parts = [(name, value["id"]) for part in processor["single"] for name, value in part.items()]
        if [name for name, _ in parts] == ["SpecialToken", "Sequence", "SpecialToken"]:
            return Ends(parts[0][1], parts[2][1])
        kind = " ".join("$A" if name == "Sequence" else id for name, id in parts)
    elif kind == "Sequence":
        inner = [one for one in processor["processors"] if one["type"] != "ByteLevel"]
        if len(inner) == 1:
            return find_ends(inner[0], source)
    raise EncoderError(
        f"{source}: it puts {kind or 'nothing'} around a text; expected one piece before and one behind, such as "
        "<s> $A </s>"
    )
