"""Text that has a UTF-8 form, and how long it is once it is normalised."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ..errors import InputError


def well_formed(text: str) -> str:
    """Return the text with each lone surrogate as U+FFFD: it has a UTF-8 form. Raises `InputError` for no text."""
    if not isinstance(text, str):
        raise InputError(f"expected a text, got {type(text).__name__}; give a list of strings")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normalized_length(text: str) -> int:
    """Return the most characters that a text has in Unicode's form NFKC, in which some become up to 18."""
    if text.isascii():
        return len(text)
    return len(text) + sum(text.count(one) * more for one in set(text) if (more := _more_characters(one)))


@lru_cache(1 << 15)
def _more_characters(one):
    return len(unicodedata.normalize("NFKC", one)) - 1
