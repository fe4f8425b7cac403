"""The paths of a server: requests to answers, as an ASGI application."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import orjson
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from .. import __version__
from ..errors import first_line, one_line
from ..system.text import dump_json
from ..system.types import Floats, Json
from .batching import Batcher
from .bodies import Room
from .encoding import Served
from .forms import SearchRequest, embedding_request, search_request
from .limits import ANSWER_SECONDS, Limits
from .metrics import TEXT, Metrics
from .origins import Origins, origin_form, require_json
from .refusals import Gone, Refusal
from .tokens import allowed
from .turns import Turns

if TYPE_CHECKING:
    from .collection import Collection

# Bytes of an answer that are sent at once, so that little is held for a client that does not take it.
CHUNK = 1 << 16
# Whoever asks whether it runs needs no token.
OPEN = "/health"
# nginx' status for a client that has gone; it is counted and not sent.
GONE = 499


class Server:
    """An encoder, maybe an index, limits, and the tokens and origins that are known: what a server's paths share."""

    def __init__(
        self,
        served: Served,
        collection: Collection | None,
        limits: Limits,
        tokens: Sequence[bytes] = (),
        origins: Origins | None = None,
    ) -> None:
        self.served, self.collection, self.tokens, self.origins = served, collection, tokens, origins or Origins()
        self.metrics, self.room, self.limits = Metrics(), Room(limits), limits
        self.batcher = Batcher(served.vectors, limits.waiting, self.metrics)
        self._turns = Turns(os.cpu_count() or 1)
        self.metrics.gauge("distill_waiting_texts", "Texts that wait to be encoded", lambda: self.batcher.waiting)
        self.metrics.gauge("distill_requests", "Requests that are in the server", lambda: self.room.requests)
        self.metrics.gauge("distill_request_bytes", "Bytes of their bodies", lambda: self.room.bytes)

    async def embeddings(self, body: bytes) -> Response:
        """Return the vectors of the texts in a body. Raises `Refusal`."""
        request = embedding_request(body, self.served.dimension, self.limits)
        role = self.served.role(request.model, request.role)
        vectors = await self.batcher.encode(request.texts, role)
        pieces = int(vectors.pieces.sum())
        rows = [
            {"object": "embedding", "index": number, "embedding": base64_of(row) if request.base64 else row}
            for number, row in enumerate(vectors.rows)
        ]
        usage = {"prompt_tokens": pieces, "total_tokens": pieces}
        return answer({"object": "list", "data": rows, "model": request.model or self.served.name, "usage": usage})

    async def search(self, body: bytes) -> Response:
        """Return the passages of the index that are nearest to the questions in a body. Raises `Refusal`."""
        if self.collection is None:
            raise Refusal(404, "no index is served; start it with --index", "no_index")
        request = search_request(body, self.limits)
        self.served.require(request.model)
        vectors = await self.batcher.encode(request.questions, "question")
        parts = await self._turns.parts(answers_to(self.collection, request, vectors.rows))
        content = b'{"results": [' + b", ".join(parts) + b"]}" if request.many else parts[0]
        return Reply(content, media_type="application/json")

    def about(self, routes: Sequence[Route]) -> dict[str, Json]:
        """Return what is there."""
        names = list(self.served.names)
        index = {"index": self.collection.card} if self.collection else {}
        paths = [
            f"{method} {route.path.replace(':path', '')}"
            for route in routes
            for method in sorted({*(route.methods or ())} - {"HEAD"})
        ]
        return {"name": "distill", "version": __version__, "models": names, **index, "routes": paths}

    def models(self) -> list[dict[str, Json]]:
        """Return the names of the encoder, as the interface lists models."""
        created = int(self.metrics.begun)
        return [
            {"id": name, "object": "model", "created": created, "owned_by": "distill"} for name in self.served.names
        ]

    def health(self) -> dict[str, Json]:
        """Return what is served."""
        index = {"index": self.collection.card} if self.collection else {}
        return {"status": "ok", "model": self.served.name, "dimension": self.served.dimension, **index}

    def close(self) -> None:
        """Let go of the threads."""
        self.served.stop()
        self._turns.close()

    def stop(self) -> None:
        """Refuse the requests that are not answered yet."""
        self.served.stop()
        self.room.stop()


class Reply(Response):
    """A response that is sent in parts, as its client takes them, and given up after `ANSWER_SECONDS`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._send(send), ANSWER_SECONDS)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for start in range(0, max(len(self.body), 1), CHUNK):
            more = start + CHUNK < len(self.body)
            await send({"type": "http.response.body", "body": self.body[start : start + CHUNK], "more_body": more})


def answer(content: dict[str, Json], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response in JSON; arrays of numbers are written as lists."""
    return Reply(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), status, headers, "application/json")


def answers_to(collection: Collection, request: SearchRequest, vectors: Floats) -> Iterator[bytes]:
    """Yield the answers to questions with unit vectors `(q, d)`, in JSON. Raises `Refusal`."""
    for one in collection.search(request, vectors):
        # Documents may have numbers of any length, and texts without a UTF-8 form, which orjson has not.
        yield dump_json(one).encode("utf-8")


def base64_of(row: Floats) -> str:
    """Return a vector's numbers as float32, little-endian, in base64."""
    return base64.b64encode(row.astype("<f4").tobytes()).decode("ascii")


def application(server: Server) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Return the ASGI application of a server."""

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        batches = asyncio.ensure_future(server.batcher.run())
        try:
            yield
        finally:
            batches.cancel()
            await asyncio.gather(batches, return_exceptions=True)
            server.close()

    routes: list[Route] = [
        Route("/", _get(lambda _: answer(server.about(routes)))),
        Route("/v1/embeddings", _posted(server, server.embeddings), methods=["POST"]),
        Route("/v1/search", _posted(server, server.search), methods=["POST"]),
        Route("/v1/models", _get(lambda _: answer({"object": "list", "data": server.models()}))),
        Route("/v1/models/{name:path}", _get(lambda request: _model(server, request.path_params["name"]))),
        Route(OPEN, _get(lambda _: answer(server.health()))),
        Route("/metrics", _get(lambda _: Reply(server.metrics.text(), media_type=TEXT))),
    ]
    handlers = {HTTPException: _unrouted, Refusal: _refused, Gone: _gone, Exception: _failed}
    door = Doorkeeper(server, Starlette(routes=routes, exception_handlers=handlers, lifespan=running))
    pages, sent = server.origins.pages, ("GET", "POST")
    # Around the door, as a browser that asks what it may send has no token, and shows a page its refusals too.
    return CORSMiddleware(door, pages, sent, "*", expose_headers=("retry-after",)) if pages else door


def _posted(server, work):
    async def endpoint(request: Request) -> Response:
        body = bytearray()
        with server.room.holding(body):
            await server.room.read(request, body)
            require_json(request.headers)
            return await server.room.answered(request, work(bytes(body)))

    return endpoint


def _get(respond):
    async def endpoint(request: Request) -> Response:
        return respond(request)

    return endpoint


def _model(server, name):
    server.served.require(name)
    return answer(next(model for model in server.models() if model["id"] == name))


def _unrouted(request, error):
    refusal = Refusal(error.status_code, f"{request.method} {request.url.path[:80]}: {error.detail}", "no_path")
    return answer(refusal.as_dict(), refusal.status, dict(error.headers or {}))


def _refused(_, error):
    return answer(error.as_dict(), error.status, error.headers)


def _gone(request, error):
    return Response(status_code=GONE)


def _failed(request, error):
    print(f"error: {request.url.path}: {one_line(first_line(error))}", file=sys.stderr, flush=True)
    return _refused(request, Refusal(500, "the server failed; its log says why", "failed"))


class Doorkeeper:
    """The application with its door: tokens, the number of requests in it, their figures, and what goes wrong in it."""

    def __init__(self, server: Server, application: Starlette) -> None:
        self._server, self._application = server, application
        self._paths = {route.path for route in application.routes if isinstance(route, Route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        scope = origin_form(scope)
        start, status = time.perf_counter(), GONE

        async def counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._answer(scope, receive, counted)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._server.metrics.answered(path, status, time.perf_counter() - start)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = Headers(scope=scope)
            self._server.origins.require_host(headers.get("host"))
            self._require_token(scope["path"], headers.get("authorization", ""))
            # Starlette raises again what `_failed` has answered.
            with self._server.room.entered(), suppress(Exception):
                await self._application(scope, receive, send)
        except Refusal as refusal:
            await _refused(None, refusal)(scope, receive, send)

    def _require_token(self, path, header):
        tokens = self._server.tokens
        if tokens and path != OPEN and not allowed(header, tokens):
            raise Refusal(401, "no token, or one that is not known: Authorization: Bearer TOKEN", "invalid_api_key")
