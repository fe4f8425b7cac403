"""A bundle as an `Encoder`, without TensorFlow."""

from pathlib import Path

from ..backend import hushed
from ..errors import EncoderError
from . import encode


def load_bundle(folder, threads=1):
    """The bundle through the `encode.py` that ships in it. Raises `EncoderError` when it is not whole."""
    try:
        with hushed():
            return encode.Encoder(folder, threads)
    except encode.BundleError as error:
        raise EncoderError(str(error)) from error


def size_of(path):
    """Bytes on disk of the files in a folder, or of a file."""
    path = Path(path)
    files = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    return sum(part.stat().st_size for part in files)
