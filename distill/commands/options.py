"""Command-line options: the settings', so that a flag, `config.toml` and its meaning are said once, and shared ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import click

from ..settings.recipes import TABLE
from ..settings.sections import Settings, Value
from ..settings.store import check, load_settings, recipe_settings, walk, without_leave
from .recipes import complete

if TYPE_CHECKING:
    from ..system.types import File

Command = TypeVar("Command", bound=Callable[..., None])
# What is ranked, and how it is scored.
UNIT_SETTINGS = ("evaluation.ranked", "evaluation.score")
# Other flags of a setting, where none of a student's shape is called so.
SHORT = {"evaluation.ranked": ("--rank",)}


class FiniteRange(click.FloatRange):
    """A number in a range; `click.FloatRange` takes NaN for one of any, and infinities where an end is open."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be counted with.", param, ctx)
        return number


def settings_options(*sections: str, recipe: str = "") -> Callable[[Command], Command]:
    """A decorator that adds the flags of the named sections, "" is the top, or of single settings by their names.

    A setting whose name is given with a "-" before it is left out. The defaults that their help tells are those of the
    `recipe`, where one is named.
    """

    def decorate(command):
        for name, section, item in reversed(list(walk(_begun(recipe)))):
            if f"-{name}" not in sections and (name in sections or name.rpartition(".")[0] in sections):
                more = () if "shape" in sections else SHORT.get(name, ())
                command = _option(name, item, getattr(section, item.name), more)(command)
        return command

    return decorate


def _option(name, item, default, more):
    meta = item.metadata
    shown = ",".join(default) if isinstance(default, tuple) else default
    told = shown != "" and name != TABLE and not isinstance(default, bool)
    text = meta["help"] + (f" [default: {shown}]" if told else "")
    listed = item.type is tuple
    kind = str if listed else click.Choice(meta["options"]) if meta["options"] else item.type
    shell_complete = complete if name == TABLE else None
    flags = (meta["flag"], *more, _parameter(name))
    return click.option(*flags, type=kind, default=None, multiple=listed, help=text, shell_complete=shell_complete)


def _parameter(name):
    return name.replace(".", "__")


def given(values: Mapping[str, Value | None]) -> list[str]:
    """Names, as `walk` has them, of the settings whose flags a command's `values` hold."""
    names = [name for name, _, _ in walk(Settings())]
    return [name for name in names if values.get(_parameter(name)) not in (None, ())]


def settings_from(values: dict[str, Value | None], config: File | None = None, recipe: str = "") -> Settings:
    """Take the settings' flags out of a command's `values`; those left unset keep what they begin with.

    That is the config file's, above the recipe that it or --recipe names; without a file that recipe's, or that of the
    name `recipe`; else the defaults.
    """
    requested, flags = str(values.pop(TABLE, None) or ""), given(values)
    settings = load_settings(config, requested) if config else _begun(requested or recipe)
    for name, section, item in walk(settings):
        value = values.pop(_parameter(name), None)
        if isinstance(value, tuple):
            value = split_names(",".join(value)) if value else None
        if value is not None:
            setattr(section, item.name, value)
    if "teacher.model" in flags and "teacher.allow_weak" not in flags:
        without_leave(settings)
    return check(settings)


def _begun(recipe):
    return recipe_settings(recipe) if recipe else Settings()


def split_names(value: str) -> tuple[str, ...]:
    """The names in a comma-separated list."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def writable(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """A path that is to be written, refused before the work when it cannot be."""
    from ..system.files import require_writable

    if path:
        require_writable(path)
    return path


def folder_option(meaning: str) -> Callable[[Command], Command]:
    """The option `--output`, a folder."""
    return click.option("--output", required=True, type=click.Path(file_okay=False), callback=writable, help=meaning)


def corpus_option(meaning: str, required: bool = False) -> Callable[[Command], Command]:
    """The option `--corpus`, files of text."""
    meaning += "; a file not named after its language as language=FILE"
    return click.option("--corpus", multiple=True, required=required, type=click.Path(dir_okay=False), help=meaning)


def translator_option(meaning: str) -> Callable[[Command], Command]:
    """The option `--translator`, folders of models."""
    meaning += " translated by a model that CTranslate2 runs, of all languages or, as LANGUAGE=FOLDER, of one"
    return click.option("--translator", "translators", multiple=True, metavar="[LANGUAGE=]FOLDER", help=meaning)


document_option = click.option(
    "--document-model", help="the encoder of the documents, of the same space, such as the teacher [default: the same]"
)
config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False),
    help="settings of a file, such as a run's config.toml; flags stand above it, and it above its recipe",
)
beam_option = click.option(
    "--beam", type=click.IntRange(1, 64), help="hypotheses of --translator, 1 is greedy [default: 4]"
)
json_option = click.option(
    "--json", "json_path", type=click.Path(dir_okay=False), callback=writable, help="also write the figures here"
)
