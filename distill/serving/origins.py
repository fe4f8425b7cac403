"""From where a server is asked: the names that it goes by, and the pages in a browser that may use it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from ..errors import InputError
from .refusals import Refusal

LOCAL = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"
JSON = "application/json"
# A page sends these without asking first; "application/x-www-form-urlencoded" is what curl says of any body.
UNSAID = ("", "application/x-www-form-urlencoded")


@dataclass(frozen=True)
class Origins:
    """The names of a server that requests may be sent to, `hosts`, None for any, and the `pages` that may read it."""

    hosts: frozenset[str] | None = None
    pages: tuple[str, ...] = ()

    def require_host(self, header: str | None) -> None:
        """Raise `Refusal` for a `Host` by which this server is not known, as that of a page that was rebound to it."""
        if self.hosts is not None and header is not None and host_name(header) not in self.hosts:
            raise Refusal(
                421, f"Host: {header[:80]!r} is none of this server's names; start it with --allowed-host", "wrong_host"
            )


def origins_of(address: str, allowed: Sequence[str], pages: Sequence[str]) -> Origins:
    """Return the `Origins` of a server that listens on an IP address, with further names and pages.

    On an address of this machine alone it goes by `LOCAL` names, elsewhere by any where none are `allowed`. Raises
    `InputError` for what is no name or no origin.
    """
    if wrong := [name for name in allowed if name != ANY and not host_name(name)]:
        raise InputError(f"--allowed-host {wrong[0]!r}: expected a name such as search.example.org, or *")
    if wrong := [page for page in pages if page not in (ANY, "null") and not _is_origin(page)]:
        raise InputError(f"--cors-origin {wrong[0]!r}: expected such as https://example.org:4200, without a path, or *")
    if ANY in allowed or not (allowed or is_loopback(address)):
        return Origins(None, tuple(pages))
    literal = f"[{address}]" if ":" in address else address
    return Origins(frozenset({*LOCAL, literal, *map(host_name, allowed)}), tuple(pages))


def is_loopback(address: str) -> bool:
    """Return True for an IP address that this machine alone reaches."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def host_name(header: str) -> str:
    """Return the name in a `Host`, in lower case, without its port."""
    header = header.strip().lower()
    name = header.partition("]")[0] + "]" if header.startswith("[") else header.partition(":")[0]
    return name.removesuffix(".")


def origin_form(scope: Scope) -> Scope:
    """Return a request whose target is a whole URL, as proxies write it, as one with a path and the `Host` of that."""
    if not scope["path"].startswith(("http://", "https://")):
        return scope
    name, _, path = scope["path"].partition("://")[2].partition("/")
    others = [(key, value) for key, value in scope["headers"] if key != b"host"]
    return {**scope, "path": f"/{path}", "headers": [(b"host", name.encode("latin-1", "replace")), *others]}


def _is_origin(page):
    parts = urlsplit(page)
    return bool(parts.scheme and parts.netloc) and page == f"{parts.scheme}://{parts.netloc}"


def require_json(headers: Headers) -> None:
    """Raise `Refusal` for a body that is not said to be JSON, or is compressed.

    A page of another origin sends a body without asking first unless that is said to be JSON, so one with an `Origin`
    has to say it. Without, the body may also come as what curl calls any.
    """
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "Content-Encoding: a body is taken uncompressed; leave the header out", "not_json")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and ("origin" in headers or kind not in UNSAID):
        raise Refusal(415, f"Content-Type: expected {JSON}, got {kind[:80] or 'none'}", "not_json")
