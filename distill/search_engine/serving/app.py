"""The paths of a server: an ASGI application that turns requests into answers."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

import orjson
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ... import __version__
from ...errors import first_line, one_line
from ...system.text import drop_soft_hyphens, dump_json
from ...system.types import Floats, Json
from .batching import TEXT, Batcher, Metrics, WorkSlices
from .bodies import RequestPool
from .collection import Collection, ServedEncoder
from .forms import SearchRequest, parse_embedding_request, parse_search_request
from .limits import ANSWER_SECONDS, ClientGone, Limits, Refusal
from .origins import Origins, is_allowed, path_within, require_json, to_origin_form

# Bytes of an answer that are sent at once. A client that does not take its answer thus occupies little memory.
CHUNK = 1 << 16
# The health check needs no token.
OPEN = "/health"
# The status that nginx uses for a client that has gone. It is counted but never sent.
GONE = 499


class Server:
    """State that the paths of a server share: the encoder, maybe an index, limits, known tokens and origins."""

    def __init__(
        self,
        served: ServedEncoder,
        collection: Collection | None,
        limits: Limits,
        tokens: Sequence[bytes] = (),
        origins: Origins | None = None,
    ) -> None:
        self.served, self.collection, self.tokens, self.origins = served, collection, tokens, origins or Origins()
        self.metrics, self.room, self.limits = Metrics(), RequestPool(limits), limits
        self.batcher = Batcher(served.vectors, limits.waiting, self.metrics)
        self._turns = WorkSlices(os.cpu_count() or 1)
        self._batches: asyncio.Future[None] | None = None
        self.metrics.gauge("distill_waiting_texts", "Texts that wait to be encoded", lambda: self.batcher.waiting)
        self.metrics.gauge("distill_open_requests", "Requests that are in the server", lambda: self.room.requests)
        self.metrics.gauge("distill_request_bytes", "Bytes of their bodies", lambda: self.room.bytes)

    async def embeddings(self, body: bytes) -> Response:
        """Return the embeddings of the texts in a body. Raises `Refusal`."""
        request = parse_embedding_request(body, self.served.dimension, self.limits)
        role = self.served.role(request.model, request.role)
        vectors = await self.batcher.encode(request.texts, role)
        pieces = int(vectors.pieces.sum())
        rows = [
            {"object": "embedding", "index": number, "embedding": encode_base64(row) if request.base64 else row}
            for number, row in enumerate(vectors.rows)
        ]
        usage = {"prompt_tokens": pieces, "total_tokens": pieces}
        return json_response(
            {"object": "list", "data": rows, "model": request.model or self.served.name, "usage": usage}
        )

    async def search(self, body: bytes) -> Response:
        """Return the passages of the index that are nearest to the questions in a body. Raises `Refusal`."""
        if self.collection is None:
            raise Refusal(404, "no index is served; start it with --index", "no_index")
        request = parse_search_request(body, self.limits)
        self.served.require(request.model)
        vectors = await self.batcher.encode(list(map(drop_soft_hyphens, request.questions)), "question")
        parts = await self._turns.parts(encode_answers(self.collection, request, vectors.rows))
        content = b'{"results": [' + b", ".join(parts) + b"]}" if request.many else parts[0]
        return Reply(content, media_type="application/json")

    def about(self, routes: Sequence[Route]) -> dict[str, Json]:
        """Describe the server: its version, its models, its index and its paths."""
        names = list(self.served.names)
        index = {"index": self.collection.card} if self.collection else {}
        paths = [
            f"{method} {route.path.replace(':path', '')}"
            for route in routes
            for method in sorted({*(route.methods or ())} - {"HEAD"})
        ]
        return {"name": "distill", "version": __version__, "models": names, **index, "routes": paths}

    def models(self) -> list[dict[str, Json]]:
        """List the names of the encoder in the form in which OpenAI's interface lists models."""
        created = int(self.metrics.begun)
        return [
            {"id": name, "object": "model", "created": created, "owned_by": "distill"} for name in self.served.names
        ]

    def health(self) -> dict[str, Json]:
        """Report that the server runs, and with which encoder and index."""
        index = {"index": self.collection.card} if self.collection else {}
        return {"status": "ok", "model": self.served.name, "dimension": self.served.dimension, **index}

    def start(self) -> None:
        """Begin to encode, once. An application that this one is mounted in tells nobody of its own start."""
        self._batches = self._batches or asyncio.ensure_future(self.batcher.run())

    async def close(self) -> None:
        """End the encoding and release the threads."""
        if self._batches:
            self._batches.cancel()
            await asyncio.gather(self._batches, return_exceptions=True)
        self.served.stop()
        self._turns.close()

    def stop(self) -> None:
        """Refuse the requests that are not answered yet."""
        self.served.stop()
        self.room.stop()


class Reply(Response):
    """A response that is sent in parts, as its client takes them, and abandoned after `ANSWER_SECONDS`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._send(send), ANSWER_SECONDS)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for start in range(0, max(len(self.body), 1), CHUNK):
            more = start + CHUNK < len(self.body)
            await send({"type": "http.response.body", "body": self.body[start : start + CHUNK], "more_body": more})


def json_response(content: dict[str, Json], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Make a response in JSON. Arrays of numbers are written as lists. `headers` are further headers; None for none."""
    return Reply(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), status, headers, "application/json")


def encode_answers(collection: Collection, request: SearchRequest, vectors: Floats) -> Iterator[bytes]:
    """Yield the answers to questions with these vectors as JSON, one object per question, in UTF-8."""
    for one in collection.search(request, vectors):
        # Documents may hold numbers of any length and texts without a UTF-8 form, which orjson does not support.
        yield dump_json(one).encode("utf-8")


def encode_base64(row: Floats) -> str:
    """Encode the numbers of a vector as float32, little-endian, in base64."""
    return base64.b64encode(row.astype("<f4").tobytes()).decode("ascii")


def build_application(server: Server) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Build the ASGI application of a server."""

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            await server.close()

    routes: list[Route] = [
        Route("/", _get_endpoint(lambda _: json_response(server.about(routes)))),
        Route("/v1/embeddings", _post_endpoint(server, server.embeddings), methods=["POST"]),
        Route("/v1/search", _post_endpoint(server, server.search), methods=["POST"]),
        Route("/v1/models", _get_endpoint(lambda _: json_response({"object": "list", "data": server.models()}))),
        Route(
            "/v1/models/{name:path}",
            _get_endpoint(lambda request: _describe_model(server, request.path_params["name"])),
        ),
        Route(OPEN, _get_endpoint(lambda _: json_response(server.health()))),
        Route("/metrics", _get_endpoint(lambda _: Reply(server.metrics.text(), media_type=TEXT))),
    ]
    handlers = {
        HTTPException: _answer_http_error,
        Refusal: _answer_refusal,
        ClientGone: _answer_gone,
        Exception: _answer_failure,
    }
    door = AccessMiddleware(server, Starlette(routes=routes, exception_handlers=handlers, lifespan=running))
    pages, sent = server.origins.pages, ("GET", "POST")
    # CORS goes outside of the token check: a browser's preflight request has no token, and a page sees refusals too.
    return CORSMiddleware(door, pages, sent, "*", expose_headers=("retry-after",)) if pages else door


def _post_endpoint(server, work):
    async def endpoint(request: Request) -> Response:
        body = bytearray()
        with server.room.release_bytes(body):
            await server.room.read(request, body)
            require_json(request.headers)
            server.start()
            return await server.room.answer(request, work(bytes(body)))

    return endpoint


def _get_endpoint(respond):
    async def endpoint(request: Request) -> Response:
        return respond(request)

    return endpoint


def _describe_model(server, name):
    server.served.require(name)
    return json_response(next(model for model in server.models() if model["id"] == name))


def _answer_http_error(request, error):
    refusal = Refusal(error.status_code, f"{request.method} {request.url.path[:80]}: {error.detail}", "no_path")
    return json_response(refusal.as_dict(), refusal.status, dict(error.headers or {}))


def _answer_refusal(_, error):
    return json_response(error.as_dict(), error.status, error.headers)


def _answer_gone(request, error):
    return Response(status_code=GONE)


def _answer_failure(request, error):
    print(f"error: {request.url.path}: {one_line(first_line(error))}", file=sys.stderr, flush=True)
    return _answer_refusal(request, Refusal(500, "the server failed; its log says why", "failed"))


class AccessMiddleware:
    """Middleware around the application. It checks names and tokens, counts requests, and answers refusals."""

    def __init__(self, server: Server, application: Starlette) -> None:
        self._server, self._application = server, application
        self._paths = {route.path for route in application.routes if isinstance(route, Route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        scope = to_origin_form(scope)
        start, status = time.perf_counter(), GONE

        async def counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._answer(scope, receive, counted)
        finally:
            path = path_within(scope)
            self._server.metrics.count_answer(
                path if path in self._paths else "other", status, time.perf_counter() - start
            )

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = Headers(scope=scope)
            self._server.origins.require_host(headers.get("host"))
            self._require_token(path_within(scope), headers.get("authorization", ""))
            # Starlette raises an error again after `_answer_failure` has answered it.
            with self._server.room.admit(), suppress(Exception):
                await self._application(scope, receive, send)
        except Refusal as refusal:
            await _answer_refusal(None, refusal)(scope, receive, send)

    def _require_token(self, path, header):
        tokens = self._server.tokens
        if tokens and path != OPEN and not is_allowed(header, tokens):
            raise Refusal(401, "no token, or one that is not known: Authorization: Bearer TOKEN", "invalid_api_key")
