"""The tokens that a `tokenizer.json` adds to those of its model, and those that it puts before and behind a text."""

from __future__ import annotations

import re

from ...encoders.tokenizer import SPACE
from ...errors import EncoderError
from ...system.types import Json
from .container import Ends, Kind

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
