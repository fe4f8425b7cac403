"""Settings from a file and to one, checked."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from typing import TYPE_CHECKING, TypeVar

import tomlkit

from ..errors import ConfigError
from ..system.text import make_well_formed
from .choices import MOST
from .recipes import TABLE, read_recipe, read_toml
from .renames import new_name, with_new_names, without_gone
from .rules import RULES
from .sections import Section, Settings, TeacherSettings, Value, Work

if TYPE_CHECKING:
    from ..system.types import File, Json

Part = TypeVar("Part", bound=Section)
# The key of a file that has every setting: what its recipe says now is of no account.
COMPLETE = "complete"
NOUNS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list of names"}


def walk(section: Section, prefix: str = "") -> Iterator[tuple[str, Section, Field[Value]]]:
    """Yield every setting: its dotted name as in `config.toml`, the section that holds it and its field there."""
    for item in fields(section):
        name = f"{prefix}{item.name.rstrip('_')}"
        if item.default is MISSING:
            yield from walk(getattr(section, item.name), f"{name}.")
        else:
            yield name, section, item


def values_by_name(section: Section) -> dict[str, Value]:
    """Return the value of every setting by its name as `walk` has it."""
    return {name: getattr(part, item.name) for name, part, item in walk(section)}


def free_of(work: Work) -> frozenset[str]:
    """The names, as `walk` has them, of the settings that bear on none of this `Work`: they may change meanwhile."""
    return frozenset(name for name, _, item in walk(Settings()) if not item.metadata["bears_on"] & work)


def check(settings: Settings) -> Settings:
    """Return the settings. Raises `ConfigError` on the first value that is not allowed."""
    for path, section, item in walk(settings):
        _check_value(path, getattr(section, item.name), item)
    for rule, sections in RULES:
        rule(*(getattr(settings, name) for name in sections))
    return settings


def _check_value(name, value, item):
    if not isinstance(value, item.type) or (isinstance(value, bool) and item.type is not bool):
        raise ConfigError(f"{name}: expected {NOUNS[item.type]}, got {value!r}")
    texts = [part for part in (value if item.type is tuple else [value]) if isinstance(part, str)]
    if any(text != make_well_formed(text) for text in texts):
        raise ConfigError(f"{name}: expected a name in UTF-8, got {value!r}; rename it")
    options, low, high = (item.metadata[key] for key in ("options", "low", "high"))
    if item.type is tuple:
        _check_list(name, value, options, item.metadata["may_be_empty"])
    elif options and value not in options:
        raise ConfigError(f"{name}: expected one of {', '.join(options)}, got {value!r}")
    if low is not None and not (low <= value <= high and abs(value) <= MOST):
        most = MOST if value > MOST else high
        raise ConfigError(f"{name}: expected a number from {low} to {most}, got {value}")


def _check_list(name, value, options, may_be_empty):
    if not all(isinstance(part, str) and part for part in value):
        raise ConfigError(f"{name}: expected a list of names, got {list(value)!r}")
    if options and (not (value or may_be_empty) or set(value) - set(options) or len(set(value)) < len(value)):
        expected = f"some of {', '.join(options)}, each once{', or none' * may_be_empty}"
        raise ConfigError(f"{name}: expected {expected}, got {', '.join(value) or 'none'}")


def load_settings(path: File, recipe: str = "") -> Settings:
    """Settings of a TOML file; what is absent is that of the recipe that it names, or of `recipe`, else its default.

    A file that is `COMPLETE` names the recipe that it was made of and does not rest on it. Raises `ConfigError` on an
    unknown key or value, and where the file names another recipe than `recipe`.
    """
    return settings_in(read_toml(path), str(path), recipe)


def settings_in(stored: dict[str, Json], place: str, recipe: str = "") -> Settings:
    """Return the settings of a config's values, which `place` names. Raises `ConfigError` as `load_settings`."""
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
    _update(settings, with_new_names(stored, place), place)
    if rests and "allow_weak" not in stored.get("teacher", {}):
        without_leave(settings.teacher)
    return check(settings)


def without_leave(teacher: TeacherSettings) -> None:
    """Take off a recipe's leave to go on with a weak teacher where that is a fixed one: it is of those it trains."""
    teacher.allow_weak &= not teacher.model


def recipe_settings(name: str, place: str = "--recipe") -> Settings:
    """Settings of the recipe of that name, which `place` names. Raises `ConfigError` where there is none."""
    settings = Settings(recipe=name)
    _update(settings, with_new_names(read_recipe(name, place).values, name), f"{name}.toml")
    return check(settings)


def changed(settings: Settings, values: Mapping[str, Json], place: str = "settings") -> Settings:
    """A checked copy with other `values`, by names as `walk` has them. Raises `ConfigError`, as `load_settings`."""
    left = without_gone(values, place)
    return check(with_values(settings, {new_name(name): value for name, value in left.items()}, place))


def with_values(section: Part, values: Mapping[str, Json], place: str = "settings") -> Part:
    """A copy with other `values`, by names as `walk` has them. Raises `ConfigError` for a name that is none."""
    copy = deepcopy(section)
    for name, value in values.items():
        _update(copy, _nested(name.split("."), value), place)
    return copy


def _nested(names, value):
    return {names[0]: _nested(names[1:], value)} if names else value


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
    """Return nested plain values under the names that `config.toml` uses."""
    return plain(asdict(section))


def plain(value: Json | Value) -> Json:
    """Return a setting's value as TOML and JSON have it."""
    if isinstance(value, dict):
        return {key.rstrip("_"): plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def settings_of(config: str) -> Settings:
    """Return the settings that a `config_text` was made of."""
    return settings_in(tomlkit.parse(config).unwrap(), "config.toml")


def config_text(settings: Settings, notes: Sequence[str] = ()) -> str:
    """Return the text of a `config.toml` with every setting, and `notes`, a line each, as comments above."""
    values = as_dict(settings)
    values = {TABLE: values.pop(TABLE), COMPLETE: True, **values}
    return "".join(f"# {note}\n" for note in notes) + tomlkit.dumps(values)
