"""Write a tokenizer as the `tokenizer.json` of Hugging Face's own models: a template adds bos and eos, names are kept.

The name of a special token within a text is split off as that token, as those models do.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...encoders.tokenizer import SPACE, Tokenizer, whole_proto
from ...errors import ExportError
from ...system.types import Json
from ..encode import LONGEST_WORD, WITHIN, Rules
from .tokenizer_json import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    ends_of,
    join_normalizers,
    require_unigram,
    template_of,
)

if TYPE_CHECKING:
    from google.protobuf.message import Message


def merges_of(proto: Message, source: str) -> dict[str, Json]:
    """Return the parts of a `tokenizer.json` that tokenize a text."""
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


BPE = 2
# Unused pieces score this much below the least piece, which is lower than an unknown character.
UNUSED_PENALTY = 1000


def plain_tokenizer_json(tokenizer: Tokenizer) -> dict[str, Json]:
    """Return the content of a `tokenizer.json` that gives the ids of a `Tokenizer`, except for its prompts.

    It cannot represent spellings, and not every kind of tokenizer (`ExportError`).
    """
    if tokenizer.spellings is not None:
        raise ExportError(f"{tokenizer.source}: a plain tokenizer has no spellings; export with --without-spellings")
    proto = whole_proto(tokenizer)
    rules = tokenizer.reading.wordpiece
    if rules:
        parts = _wordpiece_parts(proto, rules, tokenizer.unknown)
    else:
        parts = (merges_of if proto.trainer_spec.model_type == BPE else _unigram_parts)(proto, tokenizer.source)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": list(_added_tokens(proto)),
        **parts,
        "normalizer": join_normalizers(parts["normalizer"]),
        "post_processor": template_of(proto),
    }


def tokenizer_config(tokenizer: Tokenizer, longest: int) -> dict[str, Json]:
    """Return the content of the `tokenizer_config.json` beside it. `longest` is the largest number of ids of a text."""
    proto = whole_proto(tokenizer)
    (bos, eos), unknown = ends_of(proto), proto.pieces[tokenizer.unknown].piece
    names = {piece.piece for piece in proto.pieces if piece.type == CONTROL}
    # Padding is masked, so any token would do.
    padding = next((name for name in ("<pad>", "[PAD]") if name in names), unknown)
    mask = next((name for name in ("<mask>", "[MASK]") if name in names), None)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": longest,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **{"bos_token": bos, "eos_token": eos, "cls_token": bos, "sep_token": eos},
        **{"unk_token": unknown, "pad_token": padding, **({"mask_token": mask} if mask else {})},
    }


def _added_tokens(proto: Message) -> Iterator[dict[str, Json]]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    # In a unigram model user-defined pieces are ordinary pieces with scores that no others reach.
    named = (USER_DEFINED,) if proto.trainer_spec.model_type == BPE else ()
    for id, piece in enumerate(proto.pieces):
        if piece.type in (CONTROL, UNKNOWN, *named):
            yield {"id": id, "content": piece.piece, **plain, "special": piece.type != USER_DEFINED}


def _wordpiece_parts(proto: Message, rules: Rules, unknown: int) -> dict[str, Json]:
    return {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": rules.chinese,
            "strip_accents": rules.strip_accents,
            "lowercase": rules.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": WITHIN, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": proto.pieces[unknown].piece,
            "continuing_subword_prefix": WITHIN,
            "max_input_chars_per_word": LONGEST_WORD,
            "vocab": {piece.piece: id for id, piece in enumerate(proto.pieces)},
        },
    }


def _unigram_parts(proto: Message, source: str) -> dict[str, Json]:
    require_unigram(proto, source)
    least = min((piece.score for piece in proto.pieces if piece.type == NORMAL), default=0.0)
    scores = [least - UNUSED_PENALTY if piece.type == UNUSED else piece.score for piece in proto.pieces]
    scheme = "always" if proto.normalizer_spec.add_dummy_prefix else "never"
    metaspace = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": True}
    return {
        "normalizer": {"type": "Sequence", "normalizers": list(_normalizers(proto.normalizer_spec))},
        "pre_tokenizer": metaspace,
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": next(id for id, piece in enumerate(proto.pieces) if piece.type == UNKNOWN),
            "vocab": [[piece.piece, score] for piece, score in zip(proto.pieces, scores, strict=True)],
            "byte_fallback": False,
        },
    }


def _normalizers(spec) -> Iterator[dict[str, Json]]:
    """Yield normalisers as transformers' own conversion of a SentencePiece model has them."""
    if spec.precompiled_charsmap:
        yield {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(spec.precompiled_charsmap).decode()}
    if spec.remove_extra_whitespaces:
        yield {"type": "Strip", "strip_left": True, "strip_right": True}
        yield {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE}
