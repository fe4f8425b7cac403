"""Convert BERT's WordPiece, from a `tokenizer.json` or a `vocab.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...encoders.tokenizer import Tokenizer
from ...encoders.wordpiece import Special, wordpiece_tokenizer
from ...errors import EncoderError
from ...system.reading import read_text
from ...system.types import Json
from .added_tokens import find_ends, list_names

if TYPE_CHECKING:
    from ...export.encode import Reading


def convert_wordpiece(content: Json, source: str, reading: Reading) -> Tokenizer:
    """Convert the WordPiece model of a `tokenizer.json`.

    Args:
        content: The content of the file.
        source: The file, for errors.
        reading: The prompts and the maximum length.

    Returns:
        The tokenizer.

    Raises:
        EncoderError: If the normaliser or other rules are not those of BERT.
    """
    from ...export.encode import LONGEST_WORD, WITHIN, Rules

    model, read = content["model"], content.get("normalizer") or {}
    cut = content.get("pre_tokenizer") or {}
    told = (read.get("type"), cut.get("type"), model["continuing_subword_prefix"], model["max_input_chars_per_word"])
    if told != ("BertNormalizer", "BertPreTokenizer", WITHIN, LONGEST_WORD) or not read["clean_text"]:
        raise EncoderError(
            f"{source}: a WordPiece read by {', '.join(map(str, told))}; expected BERT's: BertNormalizer, which cleans "
            f"text, BertPreTokenizer, {WITHIN}, {LONGEST_WORD}"
        )
    added = content.get("added_tokens") or ()
    if words := [one["content"] for one in added if not one["special"]]:
        raise EncoderError(f"{source}: {words[0]!r} is added to BERT's pieces, which its rules would not find")
    strip = read["lowercase"] if read.get("strip_accents") is None else read["strip_accents"]
    rules = Rules(read["lowercase"], strip, read["handle_chinese_chars"])
    ends = find_ends(content.get("post_processor"), source)
    special = Special(model["unk_token"], ends.bos, ends.eos)
    others = tuple(one["content"] for one in added)
    names = list_names(model["vocab"], added, source)
    return wordpiece_tokenizer(names, reading._replace(wordpiece=rules), special, source, others)


def convert_vocabulary(path: Path, settings: Json, reading: Reading) -> Tokenizer:
    """Convert a `vocab.txt`.

    Args:
        path: The file.
        settings: The content of the `tokenizer_config.json` beside it.
        reading: The prompts and the maximum length.

    Returns:
        The tokenizer.
    """
    from ...export.encode import Rules

    lowercase = settings.get("do_lower_case", True)
    strip = lowercase if settings.get("strip_accents") is None else settings["strip_accents"]
    rules = Rules(bool(lowercase), bool(strip), bool(settings.get("tokenize_chinese_chars", True)))
    usual = Special()
    names = {name: _read_name(settings.get(key), getattr(usual, name)) for name, key in KEYS.items()}
    lines = read_text(path).split("\n")
    pieces = [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    return wordpiece_tokenizer(pieces, reading._replace(wordpiece=rules), Special(**names), str(path))


KEYS = {
    "unknown": "unk_token",
    "bos": "cls_token",
    "eos": "sep_token",
    "padding": "pad_token",
    "mask": "mask_token",
}


def _read_name(value, usual):
    """Return the name of a special token, which may be given as an object with further settings."""
    named = value.get("content") if isinstance(value, dict) else value
    return named if isinstance(named, str) else usual
