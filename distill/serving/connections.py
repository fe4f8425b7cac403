"""Close silent connections: uvicorn's protocol with a time limit for the head of a request."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import HEAD_SECONDS


class Connection(H11Protocol):
    """A connection on which the head of a request has to be complete within `HEAD_SECONDS`. uvicorn itself waits for
    ever.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start watching the connection."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching the connection."""
        self._timer.cancel()
        super().connection_lost(exc)

    def _watch(self):
        idle = self.cycle is None or self.cycle.response_complete
        self._timer = self.loop.call_later(HEAD_SECONDS, self._check, self.cycle if idle else self)

    def _check(self, before):
        if self.cycle is before:
            self.transport.close()
        else:
            self._watch()
