"""Convert unigram models, from a `tokenizer.json` or from XLM-R's `sentencepiece.bpe.model`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from ...encoders.tokenizer import Tokenizer, empty_proto
from ...errors import EncoderError
from ...system.types import Json
from .added_tokens import find_ends, find_kinds, list_names
from .container import Vocabulary
from .steps import convert_normalizer

if TYPE_CHECKING:
    from ...export.encode import Reading

# fairseq's tokens in front of those of the model, from its fourth on; the mask comes behind them.
FIRST, MASK = ("<s>", "<pad>", "</s>", "<unk>"), "<mask>"


def convert_unigram(content: Json, source: str, reading: Reading) -> Tokenizer:
    """Convert the unigram model of a `tokenizer.json`. Raises `EncoderError` if SentencePiece has no counterpart."""
    model, added = content["model"], content.get("added_tokens")
    if model.get("unk_id") is None:
        raise EncoderError(f"{source}: its model has no unknown piece; expected one such as <unk>")
    known, scores = {}, {}
    for id, (name, score) in enumerate(model["vocab"]):
        known.setdefault(name, id)
        scores[id] = float(score)
    names = list_names(known, added, source)
    names += [""] * (len(scores) - len(names))
    unknown = model["vocab"][model["unk_id"]][0]
    pieces = Vocabulary(
        names,
        [scores.get(id, 0.0) for id in range(len(names))],
        "UNIGRAM",
        unknown,
        find_kinds(names, added),
        bool(model.get("byte_fallback")),
    )
    return pieces.tokenizer(
        find_ends(content.get("post_processor"), source), convert_normalizer(content, source), source, reading
    )


def read_fairseq(path: Path) -> Json:
    """Return what a `tokenizer.json` would hold of XLM-R's SentencePiece model, with fairseq's ids."""
    from google.protobuf.message import DecodeError

    proto = empty_proto()
    try:
        proto.ParseFromString(path.read_bytes())
    except (OSError, DecodeError) as error:
        raise EncoderError(f"{path}: not a SentencePiece model; save the model again") from error
    if [piece.piece for piece in proto.pieces[:3]] != ["<unk>", "<s>", "</s>"]:
        raise EncoderError(
            f"{path}: its first pieces are not <unk>, <s> and </s>, as in XLM-R's; give a tokenizer.json"
        )
    rest = [[piece.piece, piece.score] for piece in proto.pieces[3:]]
    names = [*([name, 0.0] for name in FIRST), *rest, [MASK, 0.0]]
    charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    return {
        "version": "1.0",
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap} if charsmap else None,
        "model": {"type": "Unigram", "unk_id": FIRST.index("<unk>"), "vocab": names, "byte_fallback": False},
    }
