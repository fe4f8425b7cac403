"""Guests: the search engine and the papers, without which everything else trains, proves and ships.

No module of ours imports from their folders but commands and the package's face. What works with a guest where there is
one asks for its module here, by name: language bias in `distill run`, tasks of the papers, an index for a page, and
documents without questions.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ..errors import EncoderError

# The folders of the guests in this package.
GUESTS = ("search_engine", "papers")
PACKAGE = __package__.partition(".")[0]


def has_guest(module: str) -> bool:
    """Return True if the guest that a module such as `papers.bias.analyses` belongs to is installed."""
    return find_spec(f"{PACKAGE}.{module.partition('.')[0]}") is not None


def find_guest(module: str) -> ModuleType | None:
    """Return a module of a guest, such as `papers.bias.analyses`; None if the guest is not installed."""
    return import_module(f"{PACKAGE}.{module}") if has_guest(module) else None


def require_guest(module: str) -> ModuleType:
    """Return a module of a guest that a user has asked for. Raises `EncoderError` if the guest is not installed."""
    if (guest := find_guest(module)) is None:
        raise EncoderError(f"{PACKAGE}.{module.partition('.')[0]} is not installed; install the whole of {PACKAGE}")
    return guest
