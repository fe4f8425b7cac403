"""Text that has a UTF-8 form, its normalised length, equal texts, and JSON that every parser accepts."""

from __future__ import annotations

import json
import math
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .types import Integers, Json

# Where a word may break.
SOFT_HYPHEN = "\xad"


def drop_soft_hyphens(text: str) -> str:
    """Return the text without soft hyphens, between which an encoder would read the parts of a word as words."""
    return text.replace(SOFT_HYPHEN, "")


def make_well_formed(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, so that the text has a UTF-8 form."""
    if not isinstance(text, str):
        raise InputError(f"expected a text, got {type(text).__name__}; give a list of strings")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normalized_length(text: str) -> int:
    """Return the largest number of characters that a text has in Unicode's NFKC form, in which one may become 18."""
    if text.isascii():
        return len(text)
    return len(text) + sum(text.count(one) * more for one in set(text) if (more := _more_characters(one)))


@lru_cache(1 << 15)
def _more_characters(one):
    return len(unicodedata.normalize("NFKC", one)) - 1


def number_copies(texts: Sequence[str]) -> Integers:
    """Return for each text the number of the first that equals it, but for blanks and compatibility characters."""
    import numpy as np

    originals: dict[str, int] = {}
    keys = (" ".join(unicodedata.normalize("NFKC", text).split()) for text in texts)
    return np.array([originals.setdefault(key, number) for number, key in enumerate(keys)], dtype=np.int64)


def count_copies(first_of: Integers) -> int:
    """Return how many texts equal an earlier one, given what `number_copies` returned."""
    return sum(first != number for number, first in enumerate(first_of.tolist()))


def all_same(first_of: Integers) -> bool:
    """Return whether all of several texts are equal, given what `number_copies` returned."""
    return len(first_of) > 1 and count_copies(first_of) == len(first_of) - 1


def dump_json(value: Json, ascii: bool = False) -> str:
    """Return a value as one line of JSON, or of ASCII; NaN and infinities become null, lone surrogates U+FFFD."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False)
    return json.dumps(json.loads(make_well_formed(text))) if ascii else make_well_formed(text)


def _finite(value):
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
