"""Check the contents of an `encoder.keras` before Keras loads it: a model of distill, plain settings and weights.

A `.keras` file names the classes and functions that it is made of, and Keras looks them up; some versions import
whatever module the file names. So the names are checked first.
"""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import BadZipFile, ZipFile
from zlib import error

from ..errors import EncoderError, first_line

MEMBERS = {"metadata.json", "config.json", "model.weights.h5"}
PACKAGE, NAMES = "distill>", {"class_name", "registered_name", "module"}
# Bytes that settings have at most; weights are packed by less than this, where they are packed at all.
SETTINGS, PACKED = 2**24, 20
# What else a model's settings may name.
HARMLESS = {("keras", "DTypePolicy")}


def require_own(path: Path) -> None:
    """Refuse a `.keras` file that names or holds anything but a model that distill has registered.

    A small file that unpacks to a large one is refused too. The modules of the model's classes have to be imported
    before. Raises `EncoderError`.
    """
    try:
        with ZipFile(path) as archive:
            members = archive.namelist()
            _require_small(path, archive.infolist())
            config = json.loads(archive.read("config.json"))
        # Keras does not read how it was compiled.
        first, *others = _named_parts(
            {key: value for key, value in dict(config).items() if key != "compile_config"}
        ) or [{}]
    # NotImplementedError: a compression, or an encryption, that ZipFile does not know.
    except (OSError, ValueError, TypeError, KeyError, BadZipFile, RecursionError, NotImplementedError, error) as broken:
        raise EncoderError(f"{path}: not a saved encoder: {first_line(broken)}") from broken
    if more := sorted(set(members) - MEMBERS):
        _refuse(path, f"it holds {more[0]}, expected {', '.join(sorted(MEMBERS))}")
    if not _is_own(first):
        _refuse(path, f"{_describe_part(first)}, expected a model of distill")
    for one in others:
        if not _is_own(one) and (one.get("module"), one.get("class_name")) not in HARMLESS:
            _refuse(path, f"{_describe_part(one)} in it, which distill has not")


def _require_small(path, members):
    """Check sizes before anything is unpacked: the file's directory has them, and no more than that is read."""
    for one in members:
        most = SETTINGS if one.filename.endswith(".json") else max(SETTINGS, PACKED * one.compress_size)
        if one.file_size > most:
            _refuse(path, f"its {one.filename} unpacks to {one.file_size:,} bytes, expected {most:,} at most")


def _refuse(path, reason):
    raise EncoderError(f"{path}: not a saved encoder: {reason}; it is not loaded")


def _named_parts(value):
    """Yield every part of a configuration that names a class or a function, outermost first."""
    if not isinstance(value, dict | list):
        return []
    parts = value if isinstance(value, list) else value.values()
    outermost = [value] if isinstance(value, dict) and NAMES & set(value) else []
    return outermost + [inner for one in parts for inner in _named_parts(one)]


def _is_own(one):
    from keras.saving import get_registered_object

    name = one.get("registered_name")
    known = get_registered_object(name) if isinstance(name, str) and name.startswith(PACKAGE) else None
    return known is not None and known.__name__ == one.get("class_name")


def _describe_part(one):
    return f"{one.get('module')}.{one.get('class_name')}" if one else "no class"
