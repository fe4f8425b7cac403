"""The access tokens of a server."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence

from ...errors import InputError
from ...system.input_files import read_text
from ...system.types import File

VARIABLE = "DISTILL_TOKEN"
SCHEME = "bearer "


def read_tokens(path: File | None) -> tuple[bytes, ...]:
    """Read the tokens of a file, one per line, or the token of the environment variable if `path` is None.

    Raises `DataError` if the file cannot be read, and `InputError` if the file or the variable holds no token. Without
    a file and a variable there are no tokens.
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


def is_allowed(header: str, tokens: Sequence[bytes]) -> bool:
    """Check an Authorization header. The time that this takes does not depend on how close a wrong token is."""
    if header[: len(SCHEME)].lower() != SCHEME:
        return False
    given = header[len(SCHEME) :].strip().encode("utf-8", "replace")
    # All tokens are compared, so that the time does not tell which one is near.
    return any([hmac.compare_digest(given, token) for token in tokens])
