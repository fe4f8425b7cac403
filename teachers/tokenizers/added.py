"""The pieces that a `tokenizer.json` adds to those of its model, and the kind of each in SentencePiece."""

from __future__ import annotations

import re

from ...encoders.tokenizer import SPACE
from ...errors import EncoderError
from ...system.types import Json
from .container import Kind

# Pieces that were left free for others: no text is read as one.
FREE = re.compile(r"[<\[]unused[_ ]?\d+[>\]]", re.IGNORECASE)


def by_id(known: dict[str, int], added: Json, source: str) -> list[str]:
    """Return the names of all pieces by id, empty where there is none.

    Raises `EncoderError` for ids out of all order.
    """
    ids = {**known, **{one["content"]: one["id"] for one in added or ()}}
    most = max(ids.values(), default=-1)
    if not ids or min(ids.values()) < 0 or most >= 2 * len(ids) + 1000:
        raise EncoderError(f"{source}: {len(ids)} pieces with ids up to {most}; save the model again")
    names = [""] * (most + 1)
    for name, id in ids.items():
        names[id] = name
    return names


def kinds_of(names: list[str], added: Json) -> dict[str, Kind]:
    """Return the kinds of the pieces that are not normal: no text is read as a special one, any as another added one.

    Runs of blanks are pieces as all others: the text has a blank where they have SentencePiece's mark.
    """
    kinds: dict[str, Kind] = {name: "UNUSED" for name in names if FREE.fullmatch(name)}
    for one in added or ():
        if one["special"]:
            kinds[one["content"]] = "CONTROL"
        elif one["content"] not in kinds and SPACE not in one["content"]:
            kinds[one["content"]] = "USER_DEFINED"
    return kinds
