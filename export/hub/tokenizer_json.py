"""A SentencePiece model as a `tokenizer.json`, which the package tokenizers reads.

StaticEmbedding and model2vec leave out what a tokenizer puts around a text. So bos and eos come from the normaliser, as
characters that stand for them; a text that has such a character itself gets an unknown one in its place.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...encoders.tokenizer import SPACE, Tokenizer, model_proto
from ...errors import ExportError
from ...system.types import Json

if TYPE_CHECKING:
    from google.protobuf.message import Message

FILE = "tokenizer.json"
UNIGRAM = 1
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
# Unicode's private use area: no text has them but by accident.
PRIVATE = range(0xE000, 0xF900)
BYTES = 256


def tokenizer_json(tokenizer: Tokenizer, by_bytes: bool = False) -> dict[str, Json]:
    """Return the content of a `tokenizer.json` that gives the ids of a `Tokenizer`, bos and eos among them.

    With `by_bytes` an unknown character is its bytes, 256 more pieces: a library that leaves unknown pieces out sees
    none. Raises `ExportError` for a SentencePiece model that it cannot stand for.
    """
    proto = model_proto(tokenizer)
    _require(proto, tokenizer.source)
    bos, eos, spare = _unused(proto, 3)
    marks = {proto.trainer_spec.bos_piece: bos, proto.trainer_spec.eos_piece: eos}
    pieces = [[_piece(piece, marks, spare), piece.score] for piece in proto.pieces]
    if by_bytes:
        # The least score decides what an unknown character costs, and stays what it is.
        pieces += [[f"<0x{byte:02X}>", min(score for _, score in pieces)] for byte in range(BYTES)]
    normal = {piece.piece for piece in proto.pieces if piece.type == NORMAL}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": list(_normalizers(proto.normalizer_spec, bos, eos, spare))},
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": SPACE,
            "prepend_scheme": "never",
            "split": SPACE in normal and not any(SPACE in piece[1:] for piece in normal),
        },
        "post_processor": None,
        "decoder": {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": next(id for id, piece in enumerate(proto.pieces) if piece.type == UNKNOWN),
            "vocab": pieces,
            "byte_fallback": by_bytes,
        },
    }


def begins(byte: int) -> bool:
    """Return True for the first byte of a character in UTF-8."""
    return byte & 0xC0 != 0x80


def _require(proto: Message, source: str) -> None:
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    kinds = {piece.type for piece in proto.pieces}
    reasons = {
        f"model_type {trainer.model_type}": trainer.model_type != UNIGRAM,
        "byte_fallback": trainer.byte_fallback,
        "treat_whitespace_as_suffix": trainer.treat_whitespace_as_suffix,
        "spaces that are not escaped": not normalizer.escape_whitespaces,
        "pieces of other types": not kinds <= {NORMAL, UNKNOWN, CONTROL, USER_DEFINED},
    }
    for reason, there in reasons.items():
        if there:
            raise ExportError(f"{source}: a tokenizer.json stands for plain unigram SentencePiece models, not {reason}")


def _unused(proto: Message, count: int) -> list[str]:
    """The first characters of the private use area that are in no piece."""
    used = {character for piece in proto.pieces for character in piece.piece}
    return [chr(code) for code in PRIVATE if chr(code) not in used][:count]


def _piece(piece, marks: dict[str, str], spare: str) -> str:
    # It is in no text, though a text may have its name.
    if piece.type in (CONTROL, UNKNOWN):
        return marks.get(piece.piece) or spare + piece.piece
    return piece.piece


def _normalizers(spec, bos: str, eos: str, spare: str) -> Iterator[dict[str, Json]]:
    yield _replaced(f"[{bos}{eos}{spare}]", chr(ord(spare) + 1))
    if spec.precompiled_charsmap:
        yield {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(spec.precompiled_charsmap).decode()}
    if spec.remove_extra_whitespaces:
        yield _replaced(r"\A +| +\z", "")
        yield _replaced(" {2,}", " ")
    if spec.add_dummy_prefix:
        yield _replaced(r"\A(?=[\s\S])", " ")
    yield _replaced(r"\A", bos)
    yield _replaced(r"\z", eos)


def _replaced(pattern: str, content: str) -> dict[str, Json]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
