"""The tokens that a `tokenizer.json` puts before and behind each text."""

from __future__ import annotations

from ...errors import EncoderError
from ...system.types import Json
from .container import Ends


def find_ends(processor: Json, source: str) -> Ends:
    """Return the tokens that a post-processor puts before and behind each text.

    Args:
        processor: The post-processor of the `tokenizer.json`.
        source: The file, for errors.

    Returns:
        The two tokens.

    Raises:
        EncoderError: If there are others, or none.
    """
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
