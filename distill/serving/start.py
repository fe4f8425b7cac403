"""From a command's options to a server that runs; what is wrong is said before the encoder is loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from ..catalog.loading import load_encoder
from ..system.extras import require_extra
from ..system.progress import say
from ..system.types import File
from .limits import Limits
from .tokens import VARIABLE, read_tokens

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from .app import Server
    from .origins import Origins

# By the names that they are imported by.
PACKAGES = ("orjson", "starlette", "uvicorn")
# As of a server that is reached from elsewhere: what stands before an application knows its names.
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
    """Return an encoder, and an index, as an ASGI application, for a server such as uvicorn or to mount in another.

    Args:
        source: the encoder, any that `load_encoder` takes.
        index: the folder of `build_index` behind /v1/search; None for none.
        name: what clients call the model; None for its folder's name.
        tokens: those that clients may have; empty for anybody.
        limits: the most of a request; None for the usual.
        hosts: names that requests may be sent to; empty for any.
        pages: the origins of web pages that may ask it.

    Returns:
        The application.

    Raises:
        InputError: where the extra `serve` is not installed, or for what is not there.
        EncoderError: where `source` names no encoder.

    Example:
        >>> import distill
        >>> app = distill.serving_app("released-small")
        >>> callable(app)
        True
    """
    require_extra("distill serve", PACKAGES, "serve")
    from .app import application
    from .origins import origins_of

    known = tuple(token.encode("ascii") for token in tokens)
    origins = origins_of(ANYWHERE, hosts, pages)
    return application(_server(source, index, name, known, limits or Limits(), origins))


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
    """Serve the encoder that `source` names, and an index, on a host and port until SIGTERM or Ctrl-C.

    Args:
        source: the encoder, any that `load_encoder` takes.
        index: the folder of `build_index` behind /v1/search; None for none.
        place: the host and the port, 0 for one that is free.
        name: what clients call the model; None for its folder's name.
        token_file: tokens, a line each; None for those of the environment.
        limits: the most of a request.
        hosts: further names that it may be asked by.
        pages: the origins of web pages that may ask it.

    Raises:
        InputError: where the extra `serve` is not installed, or for what is not there.
        ServingError: where the address is not to be had.
    """
    require_extra("distill serve", PACKAGES, "serve")
    from .origins import is_loopback, origins_of
    from .running import Uvicorn, bound, more_files

    tokens = read_tokens(token_file)
    with bound(*place) as listener:
        address = listener.getsockname()[0]
        origins = origins_of(address, hosts, pages)
        server = _server(source, index, name, tokens, limits, origins)
        if not tokens and not is_loopback(address):
            say(f"whoever reaches {place[0]} may use it: neither --token-file nor ${VARIABLE} is given")
        more_files()
        Uvicorn(server, listener).serve_until_stopped()


def _server(
    source: File, index: File | None, name: str | None, tokens: Sequence[bytes], limits: Limits, origins: Origins
) -> Server:
    from .app import Server
    from .collection import Collection
    from .encoding import Served, name_of_source

    served = Served(load_encoder(source), name or name_of_source(source), limits.pieces)
    collection = Collection(index, source, served) if index else None
    return Server(served, collection, limits, tokens, origins)
