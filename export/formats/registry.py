"""Formats by name, each imported when it is looked up."""

from __future__ import annotations

from importlib import import_module

from ...errors import InputError
from ...settings.choices import FORMATS
from .format import Format


def format_of(name: str) -> Format:
    """The `Format` of a name in `settings.choices.FORMATS`, from the file that its first word names.

    Raises `InputError` for another name.
    """
    if name not in FORMATS:
        raise InputError(f"--format: expected one of {', '.join(FORMATS)}, got {name}")
    module = import_module(f".{name.partition('-')[0]}", __package__)
    return next(format_ for format_ in module.FORMATS if format_.name == name)
