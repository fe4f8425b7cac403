"""Settings that have another name than in earlier versions: what was written with the old one is still read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .sections import Section, Settings

if TYPE_CHECKING:
    from ..system.types import Json


def old_names(section: Section, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (the name in earlier versions, the name) of each setting that had another."""
    for item in fields(section):
        if item.default is MISSING:
            yield from old_names(getattr(section, item.name), f"{prefix}{item.name}.")
        elif item.metadata["was"]:
            yield item.metadata["was"], prefix + item.name


RENAMED = dict(old_names(Settings()))


def new_name(name: str) -> str:
    """Return the name that a setting has now."""
    return RENAMED.get(name, name)


def with_new_names(values: Mapping[str, Json], place: str) -> dict[str, Json]:
    """Return nested values, as a config holds them, with settings of earlier versions under their names of today.

    Raises `ConfigError`, with the `place` of the values, where both names are there.
    """
    new = {key: dict(part) if isinstance(part, dict) else part for key, part in values.items()}
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
