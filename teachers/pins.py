"""Check weights that come in packages by their sha256, so that only weights that were measured are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..errors import EncoderError
from ..system.hashes import sha256


def require_pinned(folder: Path, known: Mapping[str, str], distribution: str, good: str) -> Path:
    """Check the sha256 of files, whatever version the package has.

    Args:
        known: The expected sha256, `{name: sha256}`.

    Raises:
        EncoderError: If a file is missing or differs.
    """
    for name, expected in known.items():
        path = folder / name
        if not path.is_file():
            raise EncoderError(f"{path}: no such file; {_format_command(distribution, good)}")
        digest = sha256(path)
        if digest != expected:
            raise EncoderError(
                f"{path}: not the weights that distill knows: sha256 {digest}, expected {expected}; "
                f"{distribution} {_find_version(distribution)} was altered or is one that was never checked; "
                f"{_format_command(distribution, good)}"
            )
    return folder


def _format_command(distribution, good):
    return f"run: pip install --force-reinstall --no-deps {distribution}=={good}"


def _find_version(distribution):
    with suppress(PackageNotFoundError):
        return version(distribution)
    return "of no known version"
