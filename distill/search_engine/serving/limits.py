"""Limits of a server: of one request, of one batch, and of all that wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import one_line
from ...settings import choices

if TYPE_CHECKING:
    from ...system.types import Json

# Limits of one pass of the encoder. They are small, so that a text does not wait long behind others. Characters are
# counted in normalised texts, which hardly have fewer characters than tokens.
BATCH_TEXTS, BATCH_CHARACTERS = 64, 8192
# Seconds of a search's work at a time, before other searches have their turn.
LOT_SECONDS = 0.05
# The greatest number of fields of `where`.
MOST_FIELDS = 100
# The greatest number of passages for one question.
MOST_HITS = 1000
# The greatest number of passages for all questions of a request.
MOST_HITS_TOGETHER = 20_000
# The memory for bodies, as a multiple of the largest body.
BODIES = 16
# Seconds within which the head and the body of a request have to arrive, and its answer has to be taken.
HEAD_SECONDS, BODY_SECONDS, ANSWER_SECONDS = 10.0, 30.0, 60.0
# The greatest number of requests in the server at a time, including those that are still being read.
MOST_REQUESTS = 8192
# Seconds after which a refused client may try again.
AGAIN_SECONDS = 1


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Args:
        texts: The greatest number of texts in a request.
        characters: The greatest number of characters of a text, once it is normalised.
        body: The greatest number of bytes of a body.
        waiting: The greatest number of texts of all requests that wait to be encoded.
        seconds: The time in which a request is answered once its body is read.
        pieces: The greatest number of tokens of a text.

    Example:
        >>> import distill
        >>> limits = distill.Limits(texts=16, seconds=5.0)
        >>> limits.texts, limits.pieces
        (16, 16384)
    """

    texts: int = choices.TEXTS
    characters: int = choices.CHARACTERS
    body: int = 8_000_000
    waiting: int = 20_000
    seconds: float = choices.SECONDS
    pieces: int = choices.PIECES


# The names that the interface has for kinds of errors, by status.
KINDS = {401: "authentication_error", 503: "overloaded_error", 500: "server_error"}
# The connection is closed after 408, as the client would go on sending its body.
HEADERS = {
    401: {"www-authenticate": "Bearer"},
    408: {"connection": "close"},
    503: {"retry-after": str(AGAIN_SECONDS)},
}
# The greatest number of characters of a request that an answer repeats.
QUOTED = 80


class Refusal(Exception):
    """A request that is answered with a `status` of 4xx or 5xx; `param` is the field that is wrong."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, one_line(message), code
        self.param = param if param is None else shorten_quote(param)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the status."""
        return HEADERS.get(self.status, {})

    def as_dict(self) -> dict[str, Json]:
        kind = KINDS.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class ClientGone(Exception):
    """The client of a request has gone away."""


def busy_refusal(what: str) -> Refusal:
    """Return the refusal of a request that finds the server full."""
    from ...encoders.files.questions import busy_problem

    return Refusal(503, busy_problem(what), "busy")


def value_refusal(param: str, problem: str) -> Refusal:
    """Return the refusal of a field with a wrong value, with status 422."""
    return Refusal(422, f"{shorten_quote(param)}: {problem}", "invalid_value", param)


def size_refusal(param: str | None, problem: str) -> Refusal:
    """Return the refusal, with status 413, of a request of which a field, or without one the body, is too large."""
    return Refusal(413, problem, "too_large", param)


def shorten_quote(text: str) -> str:
    """Shorten a text of a request so that a message can quote it."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"
