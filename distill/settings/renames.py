"""Settings of earlier versions: old names are still read, and a removed setting is refused with a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, TypeVar

from ..errors import ConfigError
from .sections import Section, Settings

if TYPE_CHECKING:
    from ..system.types import Json

Value = TypeVar("Value")


def list_renames(section: Section, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the old and the new name of each setting that was renamed.

    Args:
        section: The section.
        prefix: The dotted name of the section with a dot; empty for the settings as a whole.

    Yields:
        The name in earlier versions, and the present name.
    """
    for item in fields(section):
        if item.default is MISSING:
            yield from list_renames(getattr(section, item.name), f"{prefix}{item.name}.")
        elif item.metadata["was"]:
            yield item.metadata["was"], prefix + item.name


RENAMED = dict(list_renames(Settings()))


# Removed settings, each with the value that is now the only behaviour and is still read, and the message for others.
GONE = {
    "teacher.mining": ("exact", "hard negatives are looked for exactly, in all passages; leave it out"),
    "teacher.train_table": (True, 'give teacher.trained_weights = "network" in its place'),
}


def is_removed(name: str, value: Json) -> bool:
    """Return True for a removed setting with the value that is now the only behaviour.

    Args:
        name: The name of the setting.
        value: Its value.

    Returns:
        True if the value may simply be dropped.
    """
    return name in GONE and value == GONE[name][0]


def drop_removed(values: Mapping[str, Value], place: str) -> dict[str, Value]:
    """Drop removed settings.

    Args:
        values: The values by name.
        place: The place of the values, for the message.

    Returns:
        The values that are left.

    Raises:
        ConfigError: If a removed setting has a value that is no longer supported.
    """
    left = {name: value for name, value in values.items() if not is_removed(name, value)}
    for name in GONE.keys() & left.keys():
        raise ConfigError(f"{place}: {name} = {left[name]}: {GONE[name][1]}")
    return left


def present_name(name: str) -> str:
    """Return the present name of a setting."""
    return RENAMED.get(name, name)


def rename_settings(values: Mapping[str, Json], place: str) -> dict[str, Json]:
    """Rename the settings of earlier versions in the nested values of a config.

    Args:
        values: The nested values.
        place: The place of the values, for the message.

    Returns:
        The values under their present names.

    Raises:
        ConfigError: If both names of a setting are there, or if a removed setting is.
    """
    new = {key: dict(part) if isinstance(part, dict) else part for key, part in values.items()}
    for gone in GONE:
        section, _, key = gone.partition(".")
        part = new.get(section)
        if isinstance(part, dict) and key in part:
            drop_removed({gone: part.pop(key)}, place)
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
