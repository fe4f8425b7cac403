"""Read settings that are named one by one, as in `--set NAME=VALUE`, and know which commands honour each."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .fields import Work
from .sections import Settings, Value
from .store import values_by_name, walk

if TYPE_CHECKING:
    from ..system.types import Json

TRUTH = {"true": True, "false": False}
READERS: dict[type, Callable[[str], Value]] = {int: int, float: float, str: str, bool: TRUTH.__getitem__}
# Settings that `--set` does not take: the other values are changes to a recipe.
APART = ("recipe",)


def commands_of(name: str, item: Field[Value], value: Value | None = None) -> tuple[str, ...]:
    """Return the commands that honour a setting, or a value of it: those that its field names, or its section's."""
    of_value = item.metadata["only"].get(value)
    return tuple((of_value or item.metadata["commands"] or _section_entry(name, "commands")).split())


def _section_entry(name, key):
    """Return an entry of the metadata of a setting's section, which holds for every setting in it."""
    return next(part for part in fields(Settings) if part.name == name.partition(".")[0]).metadata.get(key, "")


def unused_message(name: str, item: Field[Value], command: str, value: Value | None = None) -> str:
    """Return the message that a command does not honour a setting or its value, with those that do."""
    others, what = ", ".join(commands_of(name, item, value)), value if value in item.metadata["only"] else "it"
    instead = item.metadata["instead"] or _section_entry(name, "instead") or "leave it out"
    return f"{name}: distill {command.replace('-', ' ')} does not use {what}, distill {others} would; {instead}"


def refuse_unused(settings: Settings, command: str, begun: Settings | None = None) -> None:
    """Refuse settings that a command cannot honour although they would change its work.

    A config holds the settings of all sections. Those of sections that do not concern the command are accepted, and so
    are those on which no figure depends, and those that a run was `begun` with or that are the default.
    """
    before, usual = values_by_name(begun or Settings()), values_by_name(Settings())
    for name, section, item in walk(settings):
        value = getattr(section, item.name)
        if value not in (before[name], usual[name]) and _refuses(command, name, item, value):
            raise ConfigError(unused_message(name, item, command, value))


def _refuses(command, name, item, value):
    concerned = command in f"{_section_entry(name, 'commands')} {_section_entry(name, 'refused')}".split()
    return bool(item.metadata["bears_on"] & Work.RUN) and concerned and command not in commands_of(name, item, value)


def honoured_fields(command: str) -> dict[str, Field[Value]]:
    """Return the fields of the settings that a command honours, by their dotted names."""
    return {name: item for name, _, item in walk(Settings()) if command in commands_of(name, item)}


def read_assignments(texts: Sequence[str], command: str) -> dict[str, Json]:
    """Read the texts that `--set` was given.

    `texts` are `NAME=VALUE`, with the name in `config.toml` including its section, and commas between the parts of a
    list. Returns the values by name. If a setting is named more than once the last value counts; the parts of lists are
    joined. Raises `ConfigError` for an unknown name, one that the command does not honour, and a value of another type.
    """
    values: dict[str, Json] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set: expected NAME=VALUE such as student.gamma=100, got {text!r}")
        given = _read(name, value, _find_field(name, command))
        values[name] = [*values.get(name, ()), *given] if isinstance(given, list) else given
    return values


def _find_field(name, command):
    known = {one: item for one, _, item in walk(Settings()) if one not in APART}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "distill run --help-all lists the settings"
        raise ConfigError(f"--set: unknown setting {name!r}; {hint}")
    if command not in commands_of(name, known[name]):
        raise ConfigError(f"--set {unused_message(name, known[name], command)}")
    return known[name]


def _read(name, text, item):
    if item.type is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return READERS[item.type](text)
    except (KeyError, ValueError):
        expected = {int: "a whole number", float: "a number", bool: "true or false"}[item.type]
        raise ConfigError(f"--set {name}: expected {expected}, got {text!r}") from None
