"""Who may use a server: the tokens that it knows."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence

from ..errors import InputError
from ..system.reading import read_text
from ..system.types import File

VARIABLE = "DISTILL_TOKEN"
SCHEME = "bearer "


def read_tokens(path: File | None) -> tuple[bytes, ...]:
    """Return the tokens of a file, a line each, else that of the environment; none where neither is given.

    Raises `DataError` for a file that cannot be read, `InputError` for one without a token and an empty variable.
    """
    if path is None:
        text, place = os.environ.get(VARIABLE), f"${VARIABLE}"
        if text is None:
            return ()
    else:
        text, place = read_text(path), str(path)
    tokens = [line.strip() for line in text.splitlines() if line.strip()]
    if not tokens or not all(token.isascii() and token.isprintable() for token in tokens):
        raise InputError(f"{place}: expected a token a line, in ASCII")
    return tuple(token.encode("ascii") for token in tokens)


def allowed(header: str, tokens: Sequence[bytes]) -> bool:
    """Return True where an Authorization header has one of the tokens; its time does not tell how near it was."""
    if header[: len(SCHEME)].lower() != SCHEME:
        return False
    given = header[len(SCHEME) :].strip().encode("utf-8", "replace")
    # All of them, so that the time does not tell which.
    return any([hmac.compare_digest(given, token) for token in tokens])
