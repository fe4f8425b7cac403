"""Settings named one by one, as `--set NAME=VALUE` names them, and the commands that honour each."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .fields import Work
from .renames import new_name, without_gone
from .sections import Settings, Value
from .store import values_by_name, walk

if TYPE_CHECKING:
    from ..system.types import Json

TRUTH = {"true": True, "false": False}
READERS: dict[type, Callable[[str], Value]] = {int: int, float: float, str: str, bool: TRUTH.__getitem__}
# Set by an option of their own alone: a recipe is what the other values stand above.
APART = ("recipe",)


def commands_of(name: str, item: Field[Value], value: Value | None = None) -> tuple[str, ...]:
    """Return the commands that honour a setting, or a `value` of it: those of its field, else those of its section."""
    of_value = item.metadata["only"].get(value)
    return tuple((of_value or item.metadata["commands"] or _of_section(name, "commands")).split())


def _of_section(name, key):
    """The metadata of a setting's section, which hold for all in it; a setting above all sections has none."""
    return next(part for part in fields(Settings) if part.name == name.partition(".")[0]).metadata.get(key, "")


def unused(name: str, item: Field[Value], command: str, value: Value | None = None) -> str:
    """Return the message that a command does not honour a setting or its value, with who does and the way out."""
    others, what = ", ".join(commands_of(name, item, value)), value if value in item.metadata["only"] else "it"
    instead = item.metadata["instead"] or _of_section(name, "instead") or "leave it out"
    return f"{name}: distill {command} does not use {what}, distill {others} would; {instead}"


def refuse_unused(settings: Settings, command: str, begun: Settings | None = None) -> None:
    """Refuse settings with which a command would do other work than it can.

    A setting of a section that the command has nothing to do with is none of these, as a run's config has all of them,
    nor is one that no figure depends on.

    Args:
        settings: all settings, of a config or of a caller in Python.
        command: the command, by its name as in `distill run`.
        begun: the settings of the run that the command goes on from, which may stay as they are; else the defaults may.

    Raises:
        ConfigError: for the first setting that has another value than that and that the command does not honour.
    """
    before = values_by_name(begun or Settings())
    for name, section, item in walk(settings):
        value = getattr(section, item.name)
        if value != before[name] and _refuses(command, name, item, value):
            raise ConfigError(unused(name, item, command, value))


def _refuses(command, name, item, value):
    concerned = command in f"{_of_section(name, 'commands')} {_of_section(name, 'refused')}".split()
    return bool(item.metadata["bears_on"] & Work.RUN) and concerned and command not in commands_of(name, item, value)


def honoured(command: str) -> dict[str, Field[Value]]:
    """Return the fields of the settings that a command honours, by their names as `walk` has them."""
    return {name: item for name, _, item in walk(Settings()) if command in commands_of(name, item)}


def assigned(texts: Sequence[str], command: str) -> dict[str, Json]:
    """Read what `--set` was given.

    Args:
        texts: `NAME=VALUE`, the name as in `config.toml` with its section; a list has commas between its parts.
        command: the command, by its name as in `distill run`.

    Returns:
        The values by name; of a setting that is named more than once the last, of a list the parts of all. Raises
        `ConfigError` for a name that is unknown, for one that the command does not honour, and for a value of another
        type.
    """
    values: dict[str, Json] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = new_name(name)
        if not equals:
            raise ConfigError(f"--set: expected NAME=VALUE such as student.gamma=100, got {text!r}")
        if not without_gone({name: value}, "--set"):
            continue
        given = _read(name, value, _field(name, command))
        values[name] = [*values.get(name, ()), *given] if isinstance(given, list) else given
    return values


def _field(name, command):
    known = {one: item for one, _, item in walk(Settings()) if one not in APART}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "distill run --help-all lists the settings"
        raise ConfigError(f"--set: unknown setting {name!r}; {hint}")
    if command not in commands_of(name, known[name]):
        raise ConfigError(f"--set {unused(name, known[name], command)}")
    return known[name]


def _read(name, text, item):
    if item.type is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return READERS[item.type](text)
    except (KeyError, ValueError):
        expected = {int: "a whole number", float: "a number", bool: "true or false"}[item.type]
        raise ConfigError(f"--set {name}: expected {expected}, got {text!r}") from None
