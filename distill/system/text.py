"""Text that has a UTF-8 form."""

from __future__ import annotations

from ..errors import InputError


def well_formed(text: str) -> str:
    """Return the text with each lone surrogate as U+FFFD: it has a UTF-8 form. Raises `InputError` for no text."""
    if not isinstance(text, str):
        raise InputError(f"expected a text, got {type(text).__name__}; give a list of strings")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
