"""Refused requests: their status and a message that says what to do, in the form of errors of OpenAI's interface."""

from __future__ import annotations

from ...encoders.files.questions import busy_problem
from ...errors import one_line
from ...system.types import Json
from .limits import AGAIN_SECONDS

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
        """Return the body of the answer."""
        kind = KINDS.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class ClientGone(Exception):
    """The client of a request has gone away."""


def busy_refusal(what: str) -> Refusal:
    """Return the refusal of a request that finds the server full."""
    return Refusal(503, busy_problem(what), "busy")


def value_refusal(param: str, problem: str) -> Refusal:
    """Return the refusal of a field with a wrong value.

    Returns:
        The refusal, with status 422.
    """
    return Refusal(422, f"{shorten_quote(param)}: {problem}", "invalid_value", param)


def size_refusal(param: str | None, problem: str) -> Refusal:
    """Return the refusal of a request that is beyond a limit.

    Args:
        param: The name of the field; None for the whole body.

    Returns:
        The refusal, with status 413.
    """
    return Refusal(413, problem, "too_large", param)


def shorten_quote(text: str) -> str:
    """Shorten a text of a request so that a message can quote it."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"
