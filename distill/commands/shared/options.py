"""Command-line options: those of settings, made from their fields, and shared ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

import click

from ...errors import ConfigError
from ...settings.assignments import honoured
from ...settings.fields import SET
from ...settings.recipes import TABLE
from ...settings.rules import require_trained
from ...settings.sections import Settings, Value
from ...settings.store import changed, check, load_settings, recipe_settings, walk, without_leave
from .setting_options import ASSIGNED, SetOption, SettingOption, parameter_of

if TYPE_CHECKING:
    from ...system.types import File

Command = TypeVar("Command", bound=Callable[..., None])


class FiniteRange(click.FloatRange):
    """A number in a range; `click.FloatRange` takes NaN for one of any, and infinities where an end is open."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be counted with.", param, ctx)
        return number


def settings_options(command: str, *whole: str, recipe: str = "") -> Callable[[Command], Command]:
    """A decorator that adds the flags of the settings that a command honours, and `--set` for all of them.

    Args:
        command: its name as in `distill run`; of `distill lir fit` lir-fit.
        whole: sections whose every setting has a flag here, as they are what the command is about.
        recipe: the recipe whose values the help gives as defaults; without one it gives those of the settings.
    """
    fields = honoured(command)

    def offered(name, item):
        return item.metadata["offer"] is not SET or name.partition(".")[0] in whole

    def decorate(function):
        function = click.option(cls=SetOption, command=command)(function)
        for name, section, item in reversed(list(walk(_begun(recipe)))):
            if name in fields and offered(name, item):
                default = getattr(section, item.name)
                function = click.option(cls=SettingOption, setting=name, item=item, shown=default)(function)
        return function

    return decorate


def given(values: Mapping[str, Value | None]) -> list[str]:
    """Names, as `walk` has them, of the settings that a command's `values` hold, by a flag or by `--set`."""
    assignments = cast("Mapping[str, Value]", values.get(ASSIGNED) or {})
    names = [name for name, _, _ in walk(Settings())]
    return [name for name in names if name in assignments or values.get(parameter_of(name)) not in (None, ())]


def settings_from(values: dict[str, Value | None], config: File | None = None, recipe: str = "") -> Settings:
    """Take the settings out of a command's `values`; those left unset keep what they begin with.

    That is the config file's, above the recipe that it or --recipe names; without a file that recipe's, or that of the
    name `recipe`; else the defaults. Raises `ConfigError` for a setting that a flag and `--set` name both, and for one
    of a teacher's training beside a fixed teacher.
    """
    requested, named = str(values.pop(TABLE, None) or ""), given(values)
    settings = load_settings(config, requested) if config else _begun(requested or recipe)
    assignments = cast("Mapping[str, Value]", values.pop(ASSIGNED, None) or {})
    for name, section, item in walk(settings):
        value = values.pop(parameter_of(name), None)
        if isinstance(value, tuple):
            value = split_names(",".join(value)) if value else None
        if value is not None and name in assignments:
            raise ConfigError(f"--set {name}: {item.metadata['flag']} gives it too; leave one of them out")
        if value is not None:
            setattr(section, item.name, value)
    return _checked(changed(settings, assignments, "--set") if assignments else settings, named)


def _checked(settings, named):
    """Settings that go together, some of them named on the command line."""
    if "teacher.model" in named and "teacher.allow_weak" not in named:
        without_leave(settings.teacher)
    check(settings)
    require_trained(named, settings.teacher)
    return settings


def _begun(recipe):
    return recipe_settings(recipe) if recipe else Settings()


def split_names(value: str) -> tuple[str, ...]:
    """The names in a comma-separated list."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def writable(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """A path that is to be written, refused before the work when it cannot be."""
    from ...system.files import require_writable

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
