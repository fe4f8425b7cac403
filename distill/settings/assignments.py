"""Settings named one by one, as `--set NAME=VALUE` names them, and the commands that honour each."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .renames import new_name
from .sections import Settings, Value
from .store import walk

if TYPE_CHECKING:
    from ..system.types import Json

TRUTH = {"true": True, "false": False}
READERS = {int: int, float: float, str: str, bool: TRUTH.__getitem__}
# Set by an option of their own alone: a recipe is what the other values stand above.
APART = ("recipe",)


def commands_of(name: str, item: Field[Value]) -> tuple[str, ...]:
    """Return the commands that honour a setting: those that its field names, else those of its section."""
    of_section = {section.name: section.metadata.get("commands", "") for section in fields(Settings)}
    return tuple((item.metadata["commands"] or of_section[name.partition(".")[0]]).split())


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
        given = _read(name, value, _field(name, command))
        values[name] = [*values.get(name, ()), *given] if isinstance(given, list) else given
    return values


def _field(name, command):
    known = {one: item for one, _, item in walk(Settings()) if one not in APART}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "distill run --help-all lists the settings"
        raise ConfigError(f"--set: unknown setting {name!r}; {hint}")
    if command not in (others := commands_of(name, known[name])):
        raise ConfigError(
            f"--set {name}: distill {command} does not use it, distill {', '.join(others)} would; leave it out"
        )
    return known[name]


def _read(name, text, item):
    if item.type is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return READERS[item.type](text)
    except (KeyError, ValueError):
        expected = {int: "a whole number", float: "a number", bool: "true or false"}[item.type]
        raise ConfigError(f"--set {name}: expected {expected}, got {text!r}") from None
