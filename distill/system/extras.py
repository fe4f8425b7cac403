"""Require the packages of extras, such as `train`, without which encoders are used but not trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from ..errors import InputError

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
        "sklearn",
        "snowballstemmer",
        "statsmodels",
    ),
    *("tensorflow", "tensorflow_hub", "tensorflow_text"),
)


def require_extra(what: str, packages: Sequence[str], extra: str) -> None:
    """Require packages of an extra.

    Args:
        what: The thing that needs them, for the error.
        packages: The packages.
        extra: The extra.

    Raises:
        InputError: If one is not installed.
    """
    if missing := [package for package in packages if find_spec(package) is None]:
        raise InputError(f"{what} needs {' and '.join(missing)}; run: pip install 'distill[{extra}]'")


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
    return InputError(f"{package}, of the training stack, is not installed; run: pip install 'distill[train]'")
