"""Convert BPE as SentencePiece and Gemma have it: any two tokens that form another one merge, the likeliest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError
from ...system.types import Json
from .added_tokens import find_ends, find_kinds, list_names
from .container import Vocabulary
from .steps import convert_normalizer, make_byte_level_error

if TYPE_CHECKING:
    from ...export.encode import Reading

PLAIN = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges")
# The blank in GPT-2's spelling of bytes.
BLANK = "\u0120"


def convert_bpe(content: Json, source: str, reading: Reading) -> Tokenizer:
    model, added = content["model"], content.get("added_tokens")
    if any(BLANK in name for name in model["vocab"]) and not model.get("byte_fallback"):
        raise make_byte_level_error(source)
    if options := [name for name in PLAIN if model.get(name)]:
        raise EncoderError(f"{source}: a BPE with {options[0]} {model[options[0]]!r} cannot be a SentencePiece model")
    normalizer = convert_normalizer(content, source)
    names = list_names(model["vocab"], added, source)
    kinds = find_kinds(names, added)
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    _require_all_merges({name for name in names if name and name not in kinds}, set(merges), source)
    ranks: dict[str, int] = {}
    for first, second in merges:
        ranks.setdefault(first + second, len(ranks))
    scores = [-float(ranks.get(name, len(ranks))) for name in names]
    pieces = Vocabulary(names, scores, "BPE", str(model.get("unk_token")), kinds, bool(model.get("byte_fallback")))
    return pieces.tokenizer(find_ends(content.get("post_processor"), source), normalizer, source, reading)


def _require_all_merges(normal: set[str], merges: set[tuple[str, ...]], source: str) -> None:
    """Raise `EncoderError` if some tokens that form another one do not merge, as they all do in SentencePiece."""
    every = sum(name[:i] in normal and name[i:] in normal for name in normal for i in range(1, len(name)))
    named = sum(first in normal and second in normal and first + second in normal for first, second in merges)
    if every != named:
        raise EncoderError(
            f"{source}: {named} merges, where its pieces make up each other in {every} ways, all of which "
            "SentencePiece takes; only a BPE that comes from SentencePiece, such as Gemma's, can be read"
        )
