"""Find formats by name; each is imported when it is looked up."""

from __future__ import annotations

from importlib import import_module

from ...errors import InputError
from ...settings.choices import FORMATS
from .format import Format


def format_of(name: str) -> Format:
    """Return the `Format` of a name in `settings.choices.FORMATS`, from the module that the name's first word names.

    Args:
        name: The name of the format.

    Raises:
        InputError: If there is no such format.
    """
    if name not in FORMATS:
        raise InputError(f"--format: expected one of {', '.join(FORMATS)}, got {name}")
    module = import_module(f".{name.partition('-')[0]}", __package__)
    return next(format_ for format_ in module.FORMATS if format_.name == name)
