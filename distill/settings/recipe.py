"""Recipes: short files of settings that come with the package, each with its purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit
from tomlkit.exceptions import TOMLKitError

from ..errors import ConfigError, first_line
from ..system.input_files import read_text

if TYPE_CHECKING:
    from ..system.types import File, Json

FOLDER = Path(__file__).resolve().parent / "recipes"
# The recipe of a run that names none.
DEFAULT = "default"
# The table of a recipe's file that describes it, and the key of a config that names a recipe.
TABLE = "recipe"


@dataclass(frozen=True)
class Recipe:
    """A recipe: its name, its purpose, the size of the bundle, the time of a run, and its settings by section."""

    name: str
    purpose: str
    size: str
    time: str
    values: Mapping[str, Json]


def find_recipe(name: str, place: str = "--recipe") -> Path:
    """Return the path of a recipe. Raises `ConfigError` if there is no recipe of that name."""
    if name not in recipe_names():
        raise ConfigError(f"{place}: no recipe {name!r}, there are {', '.join(recipe_names())}; see distill recipes")
    return FOLDER / f"{name}.toml"


def recipe_names() -> tuple[str, ...]:
    """List the names of all recipes.

    Returns:
        The names, with the default one first and the others in alphabetical order.

    Example:
        >>> import distill
        >>> distill.recipe_names()[0]
        'default'
    """
    return tuple(sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != DEFAULT, name)))


def read_recipe(name: str, place: str = "--recipe") -> Recipe:
    """Read a recipe. Returns the `Recipe`. Raises `ConfigError` if there is no recipe of that name."""
    values = read_toml(find_recipe(name, place))
    return Recipe(name, **values.pop(TABLE), values=values)


def read_toml(path: File) -> dict[str, Json]:
    """Read the values of a TOML file. Raises `ConfigError` with the line of an error."""
    try:
        return tomlkit.parse(read_text(path)).unwrap()
    except (TOMLKitError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: invalid TOML: {first_line(error)}") from error
