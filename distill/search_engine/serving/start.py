"""Start a server from the options of a command. Wrong options are reported before the encoder is loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from ...encoders.catalog.loading import load_encoder
from ...system.extras import require_extra
from ...system.progress import say
from ...system.types import File
from .limits import Limits
from .origins import VARIABLE, read_tokens

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from .app import Server
    from .origins import Origins


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

    Run it with a server such as uvicorn, or mount it in another application, in the one event loop that it has.

    Args:
        source: The encoder, by any name that `load_encoder` takes.
        index: The folder of `build_index` behind /v1/search; None for no index.
        name: The name of the model for clients; None for the name of its folder.
        tokens: The tokens that clients may send; an empty sequence to admit everyone.
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
    from .origins import determine_origins, encode_tokens

    known = encode_tokens(tokens, "tokens")
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
    from .running import UvicornServer, bind_socket, raise_file_limit

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
    from .collection import Collection, ServedEncoder, served_name

    served = ServedEncoder(load_encoder(source), name or served_name(source), limits.pieces)
    collection = Collection(index, source, served) if index else None
    return Server(served, collection, limits, tokens, origins)
