"""Run a server on its address until it is stopped, with a time limit for the head of a request."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...errors import InputError, ServingError
from ...system.progress import say
from .app import Server, build_application
from .limits import HEAD_SECONDS

# Seconds that requests have once the server is stopped: first to be answered, then to be read and refused. The process
# ends within 10 seconds, on a busy machine too.
GRACE, REFUSING = 6, 1
BACKLOG = 2048
FILES = 16_384


class Connection(H11Protocol):
    """A connection on which the head of a request must be complete within `HEAD_SECONDS`; uvicorn waits for ever."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
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
