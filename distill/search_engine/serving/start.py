"""Start a server from the options of a command. Wrong options are reported before the encoder is loaded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...encoders.catalog.loading import load_encoder
from ...errors import InputError, ServingError
from ...system.extras import require_extra
from ...system.progress import say
from ...system.types import File
from .app import Server, build_application
from .limits import HEAD_SECONDS, Limits
from .origins import VARIABLE, read_tokens

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from .app import Server
    from .origins import Origins


# Seconds that requests have once the server is stopped: first to be answered, then to be read and refused. The process
# ends within 10 seconds, on a busy machine too.
GRACE, REFUSING = 6, 1
BACKLOG = 2048
FILES = 16_384


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


class UvicornServer(uvicorn.Server):
    """uvicorn's server, which prints its address once it listens."""

    def __init__(self, server: Server, listener: socket.socket) -> None:
        # uvicorn logs nothing: errors of clients are counted, and reported to the clients.
        config = uvicorn.Config(
            build_application(server),
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE + REFUSING,
            backlog=BACKLOG,
        )
        super().__init__(config)
        self._server, self._listener = server, listener

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and print the address."""
        await super().startup(sockets)
        say(f"{self._server.served.name}: {socket_url(self._listener)}/v1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that are there, and refuse those that take too long."""
        asyncio.get_running_loop().call_later(GRACE, self._server.stop)
        await super().shutdown(sockets)

    def serve_until_stopped(self) -> None:
        """Answer requests until SIGTERM or Ctrl-C. Requests that are there by then are answered first."""
        # uvicorn raises the signal again at the end.
        with suppress(KeyboardInterrupt):
            self.run([self._listener])


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket to an address. It does not listen yet. `port` is the port; 0 for a free one."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host {host}: no such host: {getattr(error, 'strerror', None) or error}") from error
    # For a socket that is not declared as TCP asyncio delays small packets, which costs 40 ms per answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise ServingError(f"--host {host} --port {port}: {error.strerror or error}; take another --port") from error
    return listener


def socket_url(listener: socket.socket) -> str:
    """Return the address of a socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def raise_file_limit() -> None:
    """Raise the limit of open files as far as the system allows. A shell's soft limit is often 1,024."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(most, FILES)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


# The packages of the extra `serve`, by the names that they are imported by.
PACKAGES = ("orjson", "prometheus_client", "starlette", "uvicorn")
# The address of a server that other machines reach. The server in front of an application checks its names.
ANYWHERE = "0.0.0.0"


def serving_app(
    source: File,
    index: File | None = None,
    name: str | None = None,
    tokens: Sequence[str] = (),
    limits: Limits | None = None,
    hosts: Sequence[str] = (),
    pages: Sequence[str] = (),
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Build an ASGI application that serves an encoder and maybe an index.

    Run it with a server such as uvicorn, or mount it in another application.

    Args:
        source: The encoder, by any name that `load_encoder` takes.
        index: The folder of `build_index` behind /v1/search; None for no index.
        name: The name of the model for clients; None for the name of its folder.
        tokens: The tokens that clients may send; empty to admit everyone.
        limits: The limits of a request; None for the defaults.
        hosts: The host names that requests may be sent to; empty for any.
        pages: The origins of web pages that may use the server.

    Returns:
        The application.

    Raises:
        InputError: If the extra `serve` is not installed, or if an argument names nothing that exists.
        EncoderError: If `source` names no encoder.

    Example:
        >>> import distill
        >>> app = distill.serving_app("multi12-static")
        >>> callable(app)
        True
    """
    require_extra("distill serve", PACKAGES, "serve")
    from .app import build_application
    from .origins import determine_origins

    known = tuple(token.encode("ascii") for token in tokens)
    origins = determine_origins(ANYWHERE, hosts, pages)
    return build_application(_make_server(source, index, name, known, limits or Limits(), origins))


def serve_model(
    source: File,
    index: File | None,
    place: tuple[str, int],
    name: str | None,
    token_file: File | None,
    limits: Limits,
    hosts: Sequence[str] = (),
    pages: Sequence[str] = (),
) -> None:
    """Serve an encoder, and maybe an index, over HTTP until SIGTERM or Ctrl-C.

    Args:
        source: The encoder, by any name that `load_encoder` takes.
        index: The folder of `build_index` behind /v1/search; None for no index.
        place: The host and the port; port 0 takes a free one.
        name: The name of the model for clients; None for the name of its folder.
        token_file: The file of tokens, one per line; None for the environment variable.
        limits: The limits of a request.
        hosts: Further host names that requests may be sent to.
        pages: The origins of web pages that may use the server.

    Raises:
        InputError: If the extra `serve` is not installed, or if an argument names nothing that exists.
        ServingError: If the address is in use or cannot be had.

    Example:
        >>> import distill
        >>> distill.serve_model("multi12-static", "my-index", ("127.0.0.1", 8000), None, None, distill.Limits())
    """
    require_extra("distill serve", PACKAGES, "serve")
    from .origins import determine_origins, is_loopback

    tokens = read_tokens(token_file)
    with bind_socket(*place) as listener:
        address = listener.getsockname()[0]
        origins = determine_origins(address, hosts, pages)
        server = _make_server(source, index, name, tokens, limits, origins)
        if not tokens and not is_loopback(address):
            say(f"whoever reaches {place[0]} may use it: neither --token-file nor ${VARIABLE} is given")
        raise_file_limit()
        UvicornServer(server, listener).serve_until_stopped()


def _make_server(
    source: File, index: File | None, name: str | None, tokens: Sequence[bytes], limits: Limits, origins: Origins
) -> Server:
    from .app import Server
    from .collection import Collection
    from .encoding import ServedEncoder, served_name

    served = ServedEncoder(load_encoder(source), name or served_name(source), limits.pieces)
    collection = Collection(index, source, served) if index else None
    return Server(served, collection, limits, tokens, origins)
