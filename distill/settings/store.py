"""Read settings from a file, check them, and write them to one."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from typing import TYPE_CHECKING, TypeVar

import tomlkit

from ..errors import ConfigError
from ..system.text import make_well_formed
from .choices import MOST
from .recipe import TABLE, read_recipe, read_toml
from .rules import RULES, require_judged
from .sections import Section, Settings, Value, Work

if TYPE_CHECKING:
    from ..system.types import File, Json

Part = TypeVar("Part", bound=Section)
# The key of a file that holds every setting. The present values of its recipe do not matter then.
COMPLETE = "complete"
NOUNS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list of names"}


def walk(section: Section, prefix: str = "") -> Iterator[tuple[str, Section, Field[Value]]]:
    """Walk through all settings of a section: the dotted name, the section that holds the setting, and its field."""
    for item in fields(section):
        name = f"{prefix}{item.name.rstrip('_')}"
        if item.default is MISSING:
            yield from walk(getattr(section, item.name), f"{name}.")
        else:
            yield name, section, item


def values_by_name(section: Section) -> dict[str, Value]:
    """Return the value of every setting by its dotted name."""
    return {name: getattr(part, item.name) for name, part, item in walk(section)}


def list_free(work: Work) -> frozenset[str]:
    """Return the dotted names of settings that bear on none of this `Work`, and may change while it is kept on disk."""
    return frozenset(name for name, _, item in walk(Settings()) if not item.metadata["bears_on"] & work)


def check_settings(settings: Settings) -> Settings:
    """Check all settings and return them. Raises `ConfigError` for the first value that is not allowed."""
    for path, section, item in walk(settings):
        _check_value(path, getattr(section, item.name), item)
    for rule, sections in RULES:
        rule(*(getattr(settings, name) for name in sections))
    return settings


def _check_value(name, value, item):
    if not isinstance(value, item.type) or (isinstance(value, bool) and item.type is not bool):
        got = str(value).lower() if isinstance(value, bool) else repr(value)
        raise ConfigError(f"{name}: expected {NOUNS[item.type]}, got {got}")
    texts = [part for part in (value if item.type is tuple else [value]) if isinstance(part, str)]
    if any(text != make_well_formed(text) for text in texts):
        raise ConfigError(f"{name}: expected a name in UTF-8, got {value!r}; rename it")
    options, low, high = (item.metadata[key] for key in ("options", "low", "high"))
    if item.type is tuple:
        _check_list(name, value, options, item.metadata["may_be_empty"])
    elif options and value not in options:
        raise ConfigError(f"{name}: expected one of {', '.join(options)}, got {value!r}")
    if low is not None and not (low <= value <= high and abs(value) <= MOST):
        most = min(high, MOST) if value > MOST else high
        span = f"of {low} or more" if most == math.inf else f"from {low} to {most}"
        raise ConfigError(f"{name}: expected a number {span}, got {value}")


def _check_list(name, value, options, may_be_empty):
    if not all(isinstance(part, str) and part for part in value):
        raise ConfigError(f"{name}: expected a list of names, got {list(value)!r}")
    if options and (not (value or may_be_empty) or set(value) - set(options) or len(set(value)) < len(value)):
        expected = f"some of {', '.join(options)}, each once{', or none' * may_be_empty}"
        raise ConfigError(f"{name}: expected {expected}, got {', '.join(value) or 'none'}")


def load_settings(path: File, recipe: str = "") -> Settings:
    """Load settings from a TOML file.

    A setting that is absent has the value of the recipe that the file or `recipe` names, or else its default. A file
    that is `COMPLETE` names the recipe that it was made from but does not need it. Raises `ConfigError` if a key or
    value is unknown, or if the file names another recipe than `recipe`.
    """
    return settings_from_values(read_toml(path), str(path), recipe)


def settings_from_values(stored: dict[str, Json], place: str, recipe: str = "") -> Settings:
    """Make settings of the values of a config."""
    if isinstance(stored.get(TABLE), dict):
        del stored[TABLE]  # A recipe's file, copied.
    named = stored.setdefault(TABLE, recipe)
    if recipe and named != recipe:
        raise ConfigError(f"{place}: its recipe is {named!r}, not {recipe!r}; leave --recipe out")
    complete = stored.pop(COMPLETE, False)
    if not isinstance(complete, bool):
        raise ConfigError(f"{place}: {COMPLETE}: expected true or false, got {complete!r}")
    rests = named and isinstance(named, str) and not complete
    settings = recipe_settings(named, place) if rests else Settings()
    _update(settings, stored, place)
    named = (f"{section}.{key}" for section, keys in stored.items() if isinstance(keys, dict) for key in keys)
    try:
        check_settings(settings)
        if not complete:
            require_judged(named, settings.teacher, settings.student, settings.evaluation)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    return settings


def recipe_settings(name: str, place: str = "--recipe") -> Settings:
    """Return the settings of a recipe.

    Args:
        name: The name of the recipe.
        place: The option or file that names it, for the message.

    Returns:
        The settings.

    Raises:
        ConfigError: If there is no recipe of that name.

    Example:
        >>> import distill
        >>> distill.recipe_settings("paper").recipe
        'paper'
    """
    settings = Settings(recipe=name)
    _update(settings, read_recipe(name, place).values, f"{name}.toml")
    return check_settings(settings)


def change_settings(settings: Settings, values: Mapping[str, Json], place: str = "settings") -> Settings:
    """Return a checked copy of settings with other values. Raises `ConfigError` if a name or value is unknown."""
    return check_settings(replace_values(settings, values, place))


def replace_values(section: Part, values: Mapping[str, Json], place: str = "settings") -> Part:
    """Return a copy of a section with other values, which are not checked."""
    copy = deepcopy(section)
    for name, value in values.items():
        _update(copy, _nest(name.split("."), value), place)
    return copy


def _nest(names, value):
    return {names[0]: _nest(names[1:], value)} if names else value


def _update(section, values, place):
    known = {item.name.rstrip("_"): item for item in fields(section)}
    for key, value in values.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise ConfigError(f"{place}: unknown setting {key!r}; {hint}")
        current = getattr(section, known[key].name)
        if is_dataclass(current) and isinstance(value, dict):
            _update(current, value, f"{place}, [{key}]")
        elif is_dataclass(current):
            raise ConfigError(f"{place}: expected a table [{key}], got {value!r}")
        else:
            setattr(section, known[key].name, _cast(value, current))


def _cast(value, like):
    if isinstance(like, tuple) and isinstance(value, list):
        return tuple(str(part) if _is_number(part) else part for part in value)
    if isinstance(like, tuple) and _is_number(value):
        return (str(value),)
    if isinstance(like, float) and _is_number(value) and abs(value) <= MOST:
        return float(value)
    return value


def _is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def as_dict(section: Section) -> dict[str, Json]:
    """Return the settings as nested plain values under their names in `config.toml`."""
    return to_plain(asdict(section))


def to_plain(value: Json | Value) -> Json:
    """Return the value of a setting in the form that TOML and JSON take."""
    if isinstance(value, dict):
        return {key.rstrip("_"): to_plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def parse_config(config: str) -> Settings:
    """Read the settings from the text of a config that `format_config` wrote."""
    return settings_from_values(tomlkit.parse(config).unwrap(), "config.toml")


def format_config(settings: Settings, notes: Sequence[str] = ()) -> str:
    """Write the text of a `config.toml` with every setting. `notes` are lines that become comments at the top."""
    values = as_dict(settings)
    values = {TABLE: values.pop(TABLE), COMPLETE: True, **values}
    return "".join(f"# {note}\n" for note in notes) + tomlkit.dumps(values)
