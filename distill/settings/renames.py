"""Settings of earlier versions: what was written with the old name of one is still read, and one that went is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, TypeVar

from ..errors import ConfigError
from .sections import Section, Settings

if TYPE_CHECKING:
    from ..system.types import Json

Value = TypeVar("Value")


def old_names(section: Section, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (the name in earlier versions, the name) of each setting that had another."""
    for item in fields(section):
        if item.default is MISSING:
            yield from old_names(getattr(section, item.name), f"{prefix}{item.name}.")
        elif item.metadata["was"]:
            yield item.metadata["was"], prefix + item.name


RENAMED = dict(old_names(Settings()))


# Settings that went, each with the value that is all there is now, which is still read, and what is said of others.
GONE = {"teacher.mining": ("exact", "hard negatives are looked for exactly, in all passages; leave it out")}


def is_gone(name: str, value: Json) -> bool:
    """True of a setting that went, with the value that is all there is now."""
    return name in GONE and value == GONE[name][0]


def without_gone(values: Mapping[str, Value], place: str) -> dict[str, Value]:
    """Return values by name without settings that went. Raises `ConfigError`, with the `place`, for other values."""
    left = {name: value for name, value in values.items() if not is_gone(name, value)}
    for name in GONE.keys() & left.keys():
        raise ConfigError(f"{place}: {name} = {left[name]}: {GONE[name][1]}")
    return left


def new_name(name: str) -> str:
    """Return the name that a setting has now."""
    return RENAMED.get(name, name)


def with_new_names(values: Mapping[str, Json], place: str) -> dict[str, Json]:
    """Return nested values, as a config holds them, with settings of earlier versions under their names of today.

    Raises `ConfigError`, with the `place` of the values, where both names are there, and for a setting that went.
    """
    new = {key: dict(part) if isinstance(part, dict) else part for key, part in values.items()}
    for gone in GONE:
        section, _, key = gone.partition(".")
        part = new.get(section)
        if isinstance(part, dict) and key in part:
            without_gone({gone: part.pop(key)}, place)
    for old, name in RENAMED.items():
        section, _, key = old.partition(".")
        part = new.get(section)
        if isinstance(part, dict) and key in part:
            _put(
                new, name.split("."), part.pop(key), f"{place}: {old} is {name} now, and both are there; leave one out"
            )
    return new


def _put(values, names, value, message):
    *sections, key = names
    for section in sections:
        values[section] = dict(part) if isinstance(part := values.get(section, {}), dict) else {}
        values = values[section]
    if key in values:
        raise ConfigError(message)
    values[key] = value
