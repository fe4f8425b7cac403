"""Recipes: short files of settings that come with the package, each with its purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit
from tomlkit.exceptions import TOMLKitError

from ..errors import ConfigError, first_line
from ..system.reading import read_text

if TYPE_CHECKING:
    from ..system.types import File, Json

FOLDER = Path(__file__).resolve().parent.parent / "recipes"
# The recipe of a run that names none.
DEFAULT = "default"
# The table of a recipe's file that is about it, and the key of a config that names one.
TABLE = "recipe"


@dataclass(frozen=True)
class Recipe:
    """A recipe: its name, its purpose, the size of the bundle and the time it takes, and its settings by section."""

    name: str
    purpose: str
    size: str
    time: str
    values: Mapping[str, Json]


def recipe_file(name: str, place: str = "--recipe") -> Path:
    """The path of a recipe. Raises `ConfigError`, with the `place` that names it, where there is none."""
    if name not in recipe_names():
        raise ConfigError(f"{place}: no recipe {name!r}, there are {', '.join(recipe_names())}; see distill recipes")
    return FOLDER / f"{name}.toml"


def recipe_names() -> tuple[str, ...]:
    """The names of all recipes, the default one first."""
    return tuple(sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != DEFAULT, name)))


def read_recipe(name: str, place: str = "--recipe") -> Recipe:
    """The `Recipe` of that name. Raises `ConfigError` as `recipe_file`."""
    values = read_toml(recipe_file(name, place))
    return Recipe(name, **values.pop(TABLE), values=values)


def read_toml(path: File) -> dict[str, Json]:
    """The values of a TOML file. Raises `ConfigError` with its line."""
    try:
        return tomlkit.parse(read_text(path)).unwrap()
    except (TOMLKitError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: invalid TOML: {first_line(error)}") from error
