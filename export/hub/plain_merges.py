"""Write a SentencePiece model of merges, such as Gemma's, as the `tokenizer.json` of Hugging Face's own models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...encoders.tokenizer import SPACE
from ...errors import ExportError
from ...system.types import Json
from .tokenizer_json import NORMAL, UNKNOWN

if TYPE_CHECKING:
    from google.protobuf.message import Message


def merges_of(proto: Message, source: str) -> dict[str, Json]:
    """Return the parts of a `tokenizer.json` that tokenize a text.

    Raises:
        ExportError: If the model changes a text before it is tokenized.
    """
    normalizer = proto.normalizer_spec
    reasons = {
        "a map of characters": bool(normalizer.precompiled_charsmap),
        "a space before each text": normalizer.add_dummy_prefix,
        "one space between words": normalizer.remove_extra_whitespaces,
    }
    for reason in (reason for reason, there in reasons.items() if there):
        raise ExportError(f"{source}: a tokenizer.json cannot hold a model of merges with {reason}; export a bundle")
    blank = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    return {
        "normalizer": blank,
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "unk_token": next(piece.piece for piece in proto.pieces if piece.type == UNKNOWN),
            "fuse_unk": True,
            "byte_fallback": proto.trainer_spec.byte_fallback,
            "vocab": {piece.piece: id for id, piece in enumerate(proto.pieces)},
            "merges": list(_pairs(proto)),
        },
    }


def _pairs(proto: Message) -> Iterator[list[str]]:
    """Yield each pair of pieces that make up another piece, the most likely one first."""
    normal = {piece.piece: piece.score for piece in proto.pieces if piece.type == NORMAL}
    for name in sorted(normal, key=lambda name: -normal[name]):
        for place in range(1, len(name)):
            if name[:place] in normal and name[place:] in normal:
                yield [name[:place], name[place:]]
