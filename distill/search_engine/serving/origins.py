"""The host names that a server answers to, and the origins of web pages that may use it."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ...system.input_files import read_text
from ...system.types import File
from .limits import Refusal

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

LOCAL = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"
# An origin as browsers send it; a wildcard within would match none.
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
JSON = "application/json"
# A page may send bodies of these types without a preflight. curl uses "application/x-www-form-urlencoded" by default.
UNSAID = ("", "application/x-www-form-urlencoded")


@dataclass(frozen=True)
class Origins:
    """The host names that requests may be sent to, None for any, and the origins of `pages` that may read answers."""

    hosts: frozenset[str] | None = None
    pages: tuple[str, ...] = ()

    def require_host(self, header: str | None) -> None:
        """Raise `Refusal` for a `Host` header with an unknown name, as pages that use DNS rebinding send it."""
        if self.hosts is not None and header is not None and parse_host(header) not in self.hosts:
            raise Refusal(
                421, f"Host: {header[:80]!r} is none of this server's names; start it with --allowed-host", "wrong_host"
            )


def determine_origins(address: str, allowed: Sequence[str], pages: Sequence[str]) -> Origins:
    """Determine the origins of a server that listens on an IP address.

    On a loopback address the server answers to the `LOCAL` names. On any other it answers to every name unless some are
    `allowed`.
    """
    if wrong := [name for name in allowed if name != ANY and not parse_host(name)]:
        raise InputError(f"--allowed-host {wrong[0]!r}: expected a name such as search.example.org, or *")
    if wrong := [page for page in pages if page not in (ANY, "null") and not _is_origin(page)]:
        raise InputError(f"--cors-origin {wrong[0]!r}: expected such as https://example.org:4200, without a path, or *")
    if ANY in allowed or not (allowed or is_loopback(address)):
        return Origins(None, tuple(pages))
    literal = f"[{address}]" if ":" in address else address
    return Origins(frozenset({*LOCAL, literal, *map(parse_host, allowed)}), tuple(pages))


def is_loopback(address: str) -> bool:
    """Return True for an IP address that only this machine reaches."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def parse_host(header: str) -> str:
    """Return the name in a `Host` header in lower case, without its port."""
    header = header.strip().lower()
    name = header.partition("]")[0] + "]" if header.startswith("[") else header.partition(":")[0]
    return name.removesuffix(".")


def to_origin_form(scope: Scope) -> Scope:
    """Rewrite a request whose target is a whole URL, as proxies send it, to one with a path and a `Host` header."""
    if not scope["path"].startswith(("http://", "https://")):
        return scope
    name, _, path = scope["path"].partition("://")[2].partition("/")
    others = [(key, value) for key, value in scope["headers"] if key != b"host"]
    return {**scope, "path": f"/{path}", "headers": [(b"host", name.encode("latin-1", "replace")), *others]}


def path_within(scope: Scope) -> str:
    """Return the path of a request without the one that the application is mounted at."""
    mounted = scope.get("root_path", "")
    path: str = scope["path"]
    return path.removeprefix(mounted) if path.startswith(f"{mounted}/") else path


def _is_origin(page):
    return bool(ORIGIN.fullmatch(page))


def require_json(headers: Headers) -> None:
    """Raise `Refusal` for a body that is not declared as JSON, or that is compressed.

    A web page may send a body to another origin without asking first, unless it declares the body as JSON. A request
    with an `Origin` header therefore has to declare it. Without one, the default type of curl is accepted too.
    """
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "Content-Encoding: a body is taken uncompressed; leave the header out", "not_json")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and ("origin" in headers or kind not in UNSAID):
        raise Refusal(415, f"Content-Type: expected {JSON}, got {kind[:80] or 'none'}", "not_json")


VARIABLE = "DISTILL_TOKEN"
SCHEME = "bearer "


def read_tokens(path: File | None) -> tuple[bytes, ...]:
    """Read the tokens of a file, one per line, or without a path that of the environment variable, if it is set."""
    if path is None:
        text, place = os.environ.get(VARIABLE), f"${VARIABLE}"
        if text is None:
            return ()
    else:
        text, place = read_text(path), str(path)
    tokens = [line.strip() for line in text.splitlines() if line.strip()]
    if not tokens:
        raise InputError(f"{place}: expected a token a line, in ASCII")
    return encode_tokens(tokens, place)


def encode_tokens(tokens: Sequence[str], place: str) -> tuple[bytes, ...]:
    """Return tokens as they are compared; a text is one of them. Raises `InputError` if a header cannot have one."""
    # A text is a sequence, too: each of its letters would be a token.
    every = [tokens] if isinstance(tokens, str) else tokens
    if not all(token == token.strip() != "" and token.isascii() and token.isprintable() for token in every):
        raise InputError(f"{place}: expected tokens of ASCII letters, digits and signs, a line each in a file")
    return tuple(token.encode("ascii") for token in every)


def is_allowed(header: str, tokens: Sequence[bytes]) -> bool:
    """Check an Authorization header. The time that this takes does not depend on how close a wrong token is."""
    if header[: len(SCHEME)].lower() != SCHEME:
        return False
    given = header[len(SCHEME) :].strip().encode("utf-8", "replace")
    # All tokens are compared, so that the time does not tell which one is near.
    return any([hmac.compare_digest(given, token) for token in tokens])
