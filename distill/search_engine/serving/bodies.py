"""Read the body of a request within limits, and end the work for it when its client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response

from ...encoders.files.questions import late_problem, size_problem
from .limits import BODIES, BODY_SECONDS, MOST_REQUESTS, ClientGone, Limits, Refusal, busy_refusal, size_refusal

# Up to this many times the limit is read of a refused body, so that the client can read the answer before the
# connection is closed.
LEFT = 8


class RequestPool:
    """Counters of the requests in the server and of the bytes of their bodies, and the work that is done for them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.requests, self.bytes = 0, 0
        self._work: set[asyncio.Future[Response]] = set()

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Count a request while it is in the server. Raises `Refusal` if there are too many."""
        if self.requests >= MOST_REQUESTS:
            raise busy_refusal(f"{self.requests} requests are in it")
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1

    @contextmanager
    def release_bytes(self, body: bytearray) -> Iterator[None]:
        """Subtract the bytes of a body at the end from the sum that reading it increased."""
        try:
            yield
        finally:
            self.bytes -= len(body)

    async def read(self, request: Request, body: bytearray) -> None:
        """Read a body.

        Raises:
            Refusal: If the body is too large or too slow, or if there are too many bodies.
            Gone: If the client goes away.
        """
        try:
            await asyncio.wait_for(self._read(request, body), BODY_SECONDS)
        except asyncio.TimeoutError:
            raise Refusal(408, f"the body was not there within {BODY_SECONDS:g} s", "timeout") from None

    async def _read(self, request: Request, body: bytearray) -> None:
        length = request.headers.get("content-length", "0")
        if int(length) > self._limits.body:
            await self._refuse(request, True)
        more = True
        while more:
            chunk, more = await _receive_chunk(request)
            if len(body) + len(chunk) > self._limits.body:
                await self._refuse(request, more)
            if self.bytes + len(chunk) > BODIES * self._limits.body:
                raise busy_refusal(f"{self.bytes} bytes of requests are in it")
            self.bytes += len(chunk)
            body += chunk

    async def _refuse(self, request: Request, more: bool) -> None:
        left = LEFT * self._limits.body
        while more and left > 0:
            chunk, more = await _receive_chunk(request)
            left -= len(chunk)
        raise size_refusal(None, size_problem("the body", self._limits.body))

    async def answer(self, request: Request, work: Awaitable[Response]) -> Response:
        """Wait for the answer to a request whose body has been read. On any failure the work is cancelled.

        Raises:
            Gone: If the client goes away meanwhile.
            Refusal: If the answer takes too long, or the server stops.
        """
        task, gone, seconds = (
            asyncio.ensure_future(work),
            asyncio.ensure_future(request.receive()),
            self._limits.seconds,
        )
        self._work.add(task)
        try:
            await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.cancelled():
                raise busy_refusal("it is told to stop")
            if task.done():
                return task.result()
            raise ClientGone if gone.done() else Refusal(503, late_problem(seconds), "busy")
        finally:
            self._work.discard(task)
            task.cancel()
            gone.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)

    def stop(self) -> None:
        """Cancel all work. Its requests are refused."""
        for task in self._work:
            task.cancel()


async def _receive_chunk(request: Request) -> tuple[bytes, bool]:
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)
