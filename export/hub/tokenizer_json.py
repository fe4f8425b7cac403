"""Write a SentencePiece model as a `tokenizer.json`, which the package tokenizers reads.

StaticEmbedding and model2vec drop what a tokenizer adds around a text. The normaliser therefore adds bos and eos as
characters that stand for them; such a character within a text is replaced by an unknown one. For libraries that keep
what a tokenizer adds, a template adds bos and eos, also to an empty text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...encoders.tokenizer import SPACE, Tokenizer, whole_proto
from ...errors import ExportError
from ...system.types import Json

if TYPE_CHECKING:
    from google.protobuf.message import Message

FILE = "tokenizer.json"
UNIGRAM = 1
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
# Unicode's private use area, whose characters texts contain only by accident.
PRIVATE = range(0xE000, 0xF900)
# An unknown character scores this much below the least piece.
PENALTY = 10
# The number of the last normalisers, which add bos and eos.
ENDS = 2


def join_normalizers(*normalizers: Json) -> dict[str, Json]:
    """Return a normalizer that takes soft hyphens out of a text first, as our tokenizers do, and then does these."""
    first = {"type": "Replace", "pattern": {"String": "\u00ad"}, "content": ""}
    return {"type": "Sequence", "normalizers": [first, *normalizers]}


def tokenizer_json(tokenizer: Tokenizer, none_unknown: bool = False, template: bool = False) -> dict[str, Json]:
    """Return the content of a `tokenizer.json` that gives the ids of a `Tokenizer`, including bos and eos.

    Spellings are pieces behind the others, as they are to SentencePiece; the ids are those of `Tokenizer.unexpanded`.
    `none_unknown` is True to add pieces, behind the others, for unknown characters, for a library that leaves out the
    unknown token. `template` is True to add bos and eos by a template, around a truncated text too.
    """
    proto = whole_proto(tokenizer)
    require_unigram(proto, tokenizer.source)
    if tokenizer.reading.longest and not template:
        raise ExportError(
            f"{tokenizer.source}: it truncates texts to {tokenizer.reading.longest} ids, which a "
            "tokenizer.json of a student without attention does not; export a bundle"
        )
    bos, eos, spare, other = _unused_characters(proto, 4)
    marks = {} if template else dict(zip(ends_of(proto), (bos, eos), strict=True))
    pieces = [[_piece(piece, marks, spare), piece.score] for piece in proto.pieces]
    normalizers = list(_normalizers(proto.normalizer_spec, (bos, eos, spare), other))
    if none_unknown:
        alphabet, apart = _characters(proto)
        least = min(score for _, score in pieces) - PENALTY
        pieces += [[character, least] for character in [other, *apart]]
        normalizers.insert(-ENDS, _replace_rule(f"[^{_character_class(alphabet)}]+", other))
    normal = {piece.piece for piece in proto.pieces if piece.type == NORMAL}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": join_normalizers(*(normalizers[:-ENDS] if template else normalizers)),
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": SPACE,
            "prepend_scheme": "never",
            "split": SPACE in normal and not any(SPACE in piece[1:] for piece in normal),
        },
        "post_processor": template_of(proto) if template else None,
        "decoder": {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": next(id for id, piece in enumerate(proto.pieces) if piece.type == UNKNOWN),
            "vocab": pieces,
            "byte_fallback": False,
        },
    }


def count_known(model: Mapping[str, Json]) -> int:
    """Return the number of pieces before those for unknown characters, in the model of a `tokenizer.json`."""
    least = min(score for _, score in model["vocab"])
    return sum(score > least for _, score in model["vocab"])


def _characters(proto: Message) -> tuple[list[str], list[str]]:
    """Return the characters of all pieces, in order, and those that are not a piece by themselves."""
    names = {piece.piece for piece in proto.pieces if piece.type in (NORMAL, USER_DEFINED)}
    alphabet = sorted({" ", SPACE}.union(*names))
    return alphabet, [character for character in alphabet if character not in names and character != " "]


def _character_class(characters: list[str]) -> str:
    """Return sorted characters as the inside of a regular expression's class, with ranges of consecutive ones."""
    ranges: list[list[int]] = []
    for code in map(ord, characters):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


def ends_of(proto: Message) -> tuple[str, str]:
    """Return the names of bos and eos."""
    return proto.trainer_spec.bos_piece, proto.trainer_spec.eos_piece


def template_of(proto: Message) -> dict[str, Json]:
    """Return the part of a `tokenizer.json` that adds bos and eos around a text."""
    names = [piece.piece for piece in proto.pieces]
    bos, eos = ends_of(proto)
    ends = [{"SpecialToken": {"id": name, "type_id": 0}} for name in (bos, eos)]
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [ends[0], first, ends[1]],
        "pair": [ends[0], first, ends[1], ends[1], second, ends[1]],
        "special_tokens": {name: {"id": name, "ids": [names.index(name)], "tokens": [name]} for name in (bos, eos)},
    }


def require_unigram(proto: Message, source: str) -> None:
    """Require that a SentencePiece model is a plain unigram one. Raises `ExportError` if it is of another kind."""
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    kinds = {piece.type for piece in proto.pieces}
    reasons = {
        f"model_type {trainer.model_type}": trainer.model_type != UNIGRAM,
        "byte_fallback": trainer.byte_fallback,
        "treat_whitespace_as_suffix": trainer.treat_whitespace_as_suffix,
        "spaces that are not escaped": not normalizer.escape_whitespaces,
        "pieces of other types": not kinds <= {NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED},
    }
    for reason, there in reasons.items():
        if there:
            raise ExportError(f"{source}: a tokenizer.json needs a plain unigram SentencePiece model, not {reason}")


def _unused_characters(proto: Message, count: int) -> list[str]:
    """Return the first `count` characters of the private use area that are in no piece."""
    used = {character for piece in proto.pieces for character in piece.piece}
    return [chr(code) for code in PRIVATE if chr(code) not in used][:count]


def _piece(piece, marks: dict[str, str], spare: str) -> str:
    # The piece occurs in no text, though a text may contain its name.
    if piece.type in (CONTROL, UNKNOWN, UNUSED):
        return marks.get(piece.piece) or spare + piece.piece
    return piece.piece


def _normalizers(spec, taken: tuple[str, str, str], other: str) -> Iterator[dict[str, Json]]:
    bos, eos, _ = taken
    yield _replace_rule(f"[{''.join(taken)}]", other)
    if spec.precompiled_charsmap:
        yield {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(spec.precompiled_charsmap).decode()}
    if spec.remove_extra_whitespaces:
        yield _replace_rule(r"\A +| +\z", "")
        yield _replace_rule(" {2,}", " ")
    if spec.add_dummy_prefix:
        yield _replace_rule(r"\A(?=[\s\S])", " ")
    yield _replace_rule(r"\A", bos)
    yield _replace_rule(r"\z", eos)


def _replace_rule(pattern: str, content: str) -> dict[str, Json]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
