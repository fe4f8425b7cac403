"""Require what may not be installed: packages of extras, without which encoders are only used, and guests.

Guests are the search engine and the papers, without which everything else trains, proves and ships. No module of ours
imports from their folders but commands and the package's face. What works with a guest where there is one asks for its
module here, by name: language bias in `distill run`, tasks of the papers, an index for a page, and documents without
questions.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import EncoderError, InputError

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PACKAGE = Path(__file__).resolve().parents[1]
# By the names that they are imported by.
TRAINING = (
    *(
        "bm25s",
        "fontTools",
        "jinja2",
        "keras",
        "matplotlib",
        "nltk",
        "regex",
        "safetensors",
        "sklearn",
        "snowballstemmer",
        "statsmodels",
    ),
    # What TensorFlow Hub imports, and later versions of setuptools do not have.
    "pkg_resources",
    *("tensorflow", "tensorflow_hub", "tensorflow_text"),
)


def require_extra(what: str, packages: Sequence[str], extra: str) -> None:
    """Require packages of an extra. Raises `InputError` if one is not installed."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise InputError(f"{what} needs {' and '.join(missing)}; run: {install_command(extra)}")


def require_training(*packages: str) -> None:
    """Raise `InputError` if one of these packages of the training stack is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise _lacking(package)


@contextmanager
def training_stack() -> Iterator[None]:
    """Raise `InputError` instead of the `ModuleNotFoundError` of a package of the training stack."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in TRAINING:
            raise
        raise _lacking(package) from error


def _lacking(package):
    return InputError(f"{package}, of the training stack, is not installed; run: {install_command('train')}")


def install_command(extra: str, package: Path = PACKAGE) -> str:
    """Return the command that installs an extra for this copy of distill.

    A package index may hold another project by the name `distill`. The command therefore names the place that this copy
    was installed from: the folder of a checkout, a file, a repository at its commit, or an address. It names the
    distribution only if it came from an index, or if that place is gone; pip then adds the extra to the copy that is
    installed. `package` is the folder of the package `distill`.
    """
    place = package.parent
    if (place / "setup.cfg").is_file():
        return f"pip install -e {shlex.quote(f'{place}[{extra}]')}"
    if (distribution := _find_distribution(place, package.name)) is None:
        return f"pip install '.[{extra}]' in a checkout of distill"
    return f"pip install {shlex.quote(_requirement(distribution, extra))}"


def _find_distribution(place: Path, package: str) -> Distribution | None:
    """Return the distribution in a folder of packages that brought a package, whatever its name is."""
    from importlib.metadata import distributions

    every = distributions(path=[str(place)])
    return next((one for one in every if package in (one.read_text("top_level.txt") or "").split()), None)


def _requirement(distribution: Distribution, extra: str) -> str:
    """Return the requirement of a distribution with an extra, from its origin as PEP 610 records it."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    name, origin = f"{distribution.name}[{extra}]", json.loads(distribution.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    if repository := origin.get("vcs_info"):
        return f"{name} @ {repository['vcs']}+{url}@{repository['commit_id']}"
    if url.startswith("file:"):
        path = url2pathname(urlsplit(url).path)
        return f"{path}[{extra}]" if Path(path).exists() else name
    return f"{name} @ {url}" if url else name


# The folders of the guests in this package.
GUESTS = ("search_engine", "papers")
NAME = __package__.partition(".")[0]


def has_guest(module: str) -> bool:
    """Return True if the guest that a module such as `papers.bias.analyses` belongs to is installed."""
    return find_spec(f"{NAME}.{module.partition('.')[0]}") is not None


def find_guest(module: str) -> ModuleType | None:
    """Return a module of a guest, such as `papers.bias.analyses`; None if the guest is not installed."""
    return import_module(f"{NAME}.{module}") if has_guest(module) else None


def require_guest(module: str) -> ModuleType:
    """Return a module of a guest that a user has asked for. Raises `EncoderError` if the guest is not installed."""
    if (guest := find_guest(module)) is None:
        raise EncoderError(f"{NAME}.{module.partition('.')[0]} is not installed; install the whole of {NAME}")
    return guest
