"""Requests that are refused: a status, and what to do, in the form in which clients of that interface expect errors."""

from __future__ import annotations

from ..errors import one_line
from ..system.types import Json
from .limits import AGAIN_SECONDS

# By the status: the interface's names of kinds of errors.
KINDS = {401: "authentication_error", 503: "overloaded_error", 500: "server_error"}
# Whose body is too slow goes on sending it.
HEADERS = {
    401: {"www-authenticate": "Bearer"},
    408: {"connection": "close"},
    503: {"retry-after": str(AGAIN_SECONDS)},
}
# Characters of a request that an answer repeats.
QUOTED = 80


class Refusal(Exception):
    """A request that gets a `status` of 4xx or 5xx; `param` is the field that is wrong."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, one_line(message), code
        self.param = param if param is None else quoted(param)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with the status."""
        return HEADERS.get(self.status, {})

    def as_dict(self) -> dict[str, Json]:
        """Return the answer's body."""
        kind = KINDS.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class Gone(Exception):
    """The client has gone away."""


def busy(what: str) -> Refusal:
    """Return the refusal of a request that finds the server full."""
    return Refusal(503, f"the server is busy: {what}; try again", "busy")


def wrong(param: str, problem: str) -> Refusal:
    """Return the refusal of a field that is not what it should be."""
    return Refusal(422, f"{quoted(param)}: {problem}", "invalid_value", param)


def too_large(param: str | None, problem: str) -> Refusal:
    """Return the refusal of a request that is beyond a limit."""
    return Refusal(413, problem, "too_large", param)


def quoted(text: str) -> str:
    """Return a text of a request, not all of it where it is long."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"
