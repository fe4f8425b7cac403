"""Convert BERT's WordPiece, from a `tokenizer.json` or a `vocab.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...encoders.tokenizer import Special, Tokenizer, wordpiece_tokenizer
from ...errors import EncoderError
from ...system.input_files import read_text
from ...system.types import Json
from .added_tokens import find_ends, list_names
from .classes import BERT_NAMES, name_special

if TYPE_CHECKING:
    from ...export.encode import Reading, Rules


def convert_wordpiece(content: Json, source: str, reading: Reading) -> Tokenizer:
    """Convert the WordPiece model of a `tokenizer.json`."""
    from ...export.encode import LONGEST_WORD, WITHIN

    model, read = content["model"], content.get("normalizer") or {}
    cut = content.get("pre_tokenizer") or {}
    parts = (read.get("type"), cut.get("type"), model["continuing_subword_prefix"], model["max_input_chars_per_word"])
    if parts != ("BertNormalizer", "BertPreTokenizer", WITHIN, LONGEST_WORD) or not read["clean_text"]:
        raise EncoderError(
            f"{source}: a WordPiece read by {', '.join(map(str, parts))}; expected BERT's: BertNormalizer, which "
            f"cleans text, BertPreTokenizer, {WITHIN}, {LONGEST_WORD}"
        )
    added = content.get("added_tokens") or ()
    if words := [one["content"] for one in added if not one["special"]]:
        raise EncoderError(f"{source}: {words[0]!r} is added to BERT's pieces, which its rules would not find")
    rules = read_rules(content)
    ends = find_ends(content.get("post_processor"), source)
    special = Special(model["unk_token"], ends.bos, ends.eos)
    others = tuple(one["content"] for one in added)
    names = list_names(model["vocab"], added, source)
    return wordpiece_tokenizer(names, reading._replace(wordpiece=rules), special, source, others)


def read_rules(content: Json) -> Rules | None:
    """Return BERT's rules of a WordPiece model in a `tokenizer.json`, or None for one that is read otherwise."""
    from ...export.encode import Rules

    read = content.get("normalizer") or {}
    if content["model"].get("type") != "WordPiece" or read.get("type") != "BertNormalizer":
        return None
    strip = read["lowercase"] if read.get("strip_accents") is None else read["strip_accents"]
    return Rules(read["lowercase"], strip, read["handle_chinese_chars"])


def read_vocabulary(path: Path, settings: Mapping[str, Json]) -> Json:
    """Return what a `tokenizer.json` would hold of a `vocab.txt`: its tokens, before the steps of the class."""
    lines = read_text(path).split("\n")
    pieces = [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    needed = [name_special(settings, kind, BERT_NAMES) for kind in ("unk", "cls", "sep")]
    if missing := [str(name) for name in needed if name not in pieces]:
        raise EncoderError(f"{path}: {', '.join(missing)} missing among {len(pieces)} pieces; give BERT's vocab.txt")
    return {"version": "1.0", "model": {"type": "WordPiece", "vocab": {name: id for id, name in enumerate(pieces)}}}
