"""From a command's options to a server that runs; what is wrong is said before the encoder is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ..catalog.loading import load_encoder
from ..system.progress import say
from ..system.types import File
from .limits import Limits
from .tokens import VARIABLE, read_tokens

# By the names that they are imported by.
PACKAGES = ("orjson", "starlette", "uvicorn")


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

    `hosts` are further names that it may be asked by, `pages` the origins of web pages that may ask it.
    Raises `InputError` for what is not there, `ServingError` where the address is not to be had.
    """
    from .app import Server
    from .collection import Collection
    from .encoding import Served, name_of_source
    from .origins import is_loopback, origins_of
    from .running import Uvicorn, bound, more_files

    tokens = read_tokens(token_file)
    with bound(*place) as listener:
        address = listener.getsockname()[0]
        origins = origins_of(address, hosts, pages)
        served = Served(load_encoder(source), name or name_of_source(source), limits.pieces)
        collection = Collection(index, source, served) if index else None
        if not tokens and not is_loopback(address):
            say(f"whoever reaches {place[0]} may use it: neither --token-file nor ${VARIABLE} is given")
        more_files()
        Uvicorn(Server(served, collection, limits, tokens, origins), listener).serve_until_stopped()
