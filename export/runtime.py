"""An artefact as an `Encoder`, by the runtime that its format is for."""

from contextlib import contextmanager
from pathlib import Path

from ..errors import EncoderError
from ..system.backend import hushed
from . import encode

# The one file of a format that `encode.py` does not run.
OTHERS = {"string": "encoder.tflite", "mediapipe": "encoder.tflite", "mediapipe-zip": "encoder.task"}


def load_artefact(folder, threads=1):
    """The artefact in `folder`. Raises `EncoderError` when it is not whole."""
    folder = Path(folder)
    card = read_card(folder)
    with _as_ours():
        if card["format"] in encode.MODELS:
            with hushed():
                return Bundle(folder, threads)
        encode.check_files(folder, card)
    return _other(folder, card)


def read_card(folder):
    """The card of the artefact in `folder`, a dict. Raises `EncoderError`."""
    with _as_ours():
        return encode.read_card(Path(folder))


class Bundle(encode.Encoder):
    """`encode.Encoder` with errors of ours: that module has to do without them."""

    def encode(self, texts, role="question", progress=None, language=None):
        with _as_ours():
            return super().encode(texts, role, progress, language)


@contextmanager
def _as_ours():
    try:
        yield
    except (encode.BundleError, encode.TextError) as error:
        raise EncoderError(str(error)) from error


def _other(folder, card):
    if card["format"] not in OTHERS or list(card["files"]) != [OTHERS[card["format"]]]:
        raise EncoderError(f"{folder}: no artefact of a known format, {encode.CARD} says {card['format']!r}")
    path = folder / OTHERS[card["format"]]
    if card["format"] == "string":
        from .tflite.strings import StringEncoder

        return StringEncoder(path, card)
    from .tflite.mediapipe import MediaPipeEncoder

    return MediaPipeEncoder(path, card)


def size_of(path):
    """Bytes on disk of the files in a folder, or of a file."""
    path = Path(path)
    files = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    return sum(part.stat().st_size for part in files)
