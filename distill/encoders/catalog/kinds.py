"""The kinds of encoders, and how a name is matched to its kind."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import EncoderError
from ...settings.choices import BM25
from ...system.files import usable_path
from ..kind import Kind

if TYPE_CHECKING:
    from ...system.types import File


def _enumerate(names: Iterable[str]) -> str:
    return " or ".join(", ".join(filter(None, names)).rsplit(", ", 1))


# In a run's folder, its settings.
RUN_FILE, METRICS = "config.toml", "metrics.json"
# `{module:name of its Kind: how it is given}`. The last is tried first, as a name is one whatever folder has it too.
# Modules are imported when an encoder is looked for: `distill --help` imports none of them.
KINDS = {
    "encoders.catalog.saved_encoders:SAVED": "a run folder, a saved encoder",
    "encoders.catalog.bundle:BUNDLE": "a bundle",
    "encoders.catalog.saved_encoders:DUAL": "",
    "encoders.catalog.saved_encoders:FIXED": "",
    "teachers.hub:KIND": "a SavedModel, a TF-Hub handle",
    "teachers.huggingface:KIND": "st:NAME, hf:NAME",
    "teachers.e5:KIND": "e5",
    "teachers.muse:KIND": "muse",
    "encoders.catalog.bundle:SIX": "multi12-six",
    "encoders.catalog.bundle:THREE": "multi12-three",
    "encoders.catalog.bundle:TRANSFORMER": "multi12-transformer",
    "encoders.catalog.bundle:SMALL": "multi12-static",
    "encoders.catalog.bundle:RELEASED": "multi12-ngram",
}
# A reader, for `--help`.
READER_HELP = "the folder of distill read train, or hf:NAME, a question-answering model"
# All that may be given, for `--help`.
ENCODER_HELP = _enumerate(KINDS.values())


def find_kind(source: File) -> Kind | None:
    """Return the kind of the encoder that `source` names, or None; `InputError` if no file can have that name."""
    usable_path(source)
    return next((kind for kind in reversed(_kinds()) if kind.matches(source)), None)


def require_kind(source: File) -> Kind:
    """Return the kind of the encoder that `source` names. Raises `EncoderError` if it names none."""
    from ..encoder import MODEL_FILE

    if source in BM25:
        raise EncoderError(
            f"{source}: it compares words and has no vectors; distill evaluate and compare take it, nothing else does"
        )
    kind = find_kind(source)
    if kind is None:
        problem = f"{source}: no {MODEL_FILE} in it" if Path(source).exists() else f"no such encoder: {source}"
        names = _enumerate(kind.name for kind in _kinds())
        raise EncoderError(f"{problem}; {_suggest(source)}give a run folder, a bundle, a saved encoder, {names}")
    return kind


def _suggest(source: File) -> str:
    """Return words on the name that was meant, an empty text if none is near."""
    names = {known: kind.name for kind in _kinds() for known in kind.names} | {name: name for name in BM25}
    near = get_close_matches(str(source), names, n=1)
    return f"did you mean {names[near[0]]}? Else " if near and not Path(source).exists() else ""


def require_trainable(source: File) -> Kind:
    """Return the kind of an encoder whose weights distill can train and export. Raises `EncoderError` for any other."""
    kind = require_kind(source)
    # First, that it is there.
    kind.folder(source)
    if not kind.trainable:
        raise EncoderError(
            f"{source}: {kind.what} can be measured, searched with and teach (distill transfer --teacher, with a "
            "--start), but not be trained or exported; give a saved encoder, a bundle, multi12-ngram or muse"
        )
    return kind


def find_folder(source: File) -> Path | None:
    """Return the folder with the files of an encoder, or None for a name or a handle."""
    return require_kind(source).folder(source)


@cache
def _kinds() -> tuple[Kind, ...]:
    package = __package__.partition(".")[0]
    parts = (entry.split(":") for entry in KINDS)
    return tuple(getattr(import_module(f"{package}.{module}"), name) for module, name in parts)
