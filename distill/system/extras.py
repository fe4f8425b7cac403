"""The training stack: packages of the extra `train`, without which an encoder is used and measured, but not trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from ..errors import InputError

# By the names that they are imported by.
TRAINING = (
    *("bm25s", "fontTools", "jinja2", "keras", "matplotlib", "nltk", "regex", "sklearn", "snowballstemmer"),
    *("statsmodels", "tensorflow", "tensorflow_hub", "tensorflow_text"),
)


def require_training(*packages: str) -> None:
    """Raise `InputError` where one of these packages of the training stack is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise _lacking(package)


@contextmanager
def training_stack() -> Iterator[None]:
    """Raise `InputError` in place of the `ModuleNotFoundError` of a package of the training stack."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in TRAINING:
            raise
        raise _lacking(package) from error


def _lacking(package):
    return InputError(f"{package}, of the training stack, is not installed; run: pip install 'distill[train]'")
