"""A server on its address, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import uvicorn

from ..errors import InputError, ServingError
from ..system.progress import say
from .app import Server, application
from .connections import Connection

# Seconds that requests have once it is told to stop: to be answered, then to be read and refused. The process ends
# within 10, on a busy machine too.
GRACE, REFUSING = 6, 1
BACKLOG = 2048
FILES = 16_384


class Uvicorn(uvicorn.Server):
    """uvicorn's server, which says that it listens."""

    def __init__(self, server: Server, listener: socket.socket) -> None:
        # It has nothing to say: what clients do wrong is counted, and told to them.
        config = uvicorn.Config(
            application(server),
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
        """Listen."""
        await super().startup(sockets)
        say(f"{self._server.served.name}: {address(self._listener)}/v1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that are there, and refuse those that take too long."""
        asyncio.get_running_loop().call_later(GRACE, self._server.stop)
        await super().shutdown(sockets)

    def serve_until_stopped(self) -> None:
        """Answer requests until SIGTERM or Ctrl-C; those that are there are answered first."""
        # Which it raises again in the end.
        with suppress(KeyboardInterrupt):
            self.run([self._listener])


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that has an address and does not listen yet.

    Raises `InputError` for a host that there is not, `ServingError` for an address that is in use or not to be had.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host {host}: no such host: {getattr(error, 'strerror', None) or error}") from error
    # Of a socket that does not say TCP asyncio has small packets wait, 40 ms an answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise ServingError(f"--host {host} --port {port}: {error.strerror or error}; take another --port") from error
    return listener


def address(listener: socket.socket) -> str:
    """Return the address of a socket as one types it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def more_files() -> None:
    """Have as many connections as the system allows this process; a shell's soft limit is often 1,024 files."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(most, FILES)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
