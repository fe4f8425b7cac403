"""Options that several commands share, and the flags of settings, which are made from their fields."""

from __future__ import annotations

import codecs
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import click

from ...encoders.catalog.kinds import ENCODER_HELP
from ...errors import ConfigError
from ...settings.assignments import honoured_fields
from ...settings.fields import SET
from ...settings.recipe import TABLE
from ...settings.rules import require_effect
from ...settings.sections import Settings, Value
from ...settings.store import change_settings, check_settings, load_settings, recipe_settings, values_by_name, walk
from .command import WRITTEN
from .help import option
from .setting_options import ASSIGNED, SetOption, SettingOption, format_default, make_parameter_name

if TYPE_CHECKING:
    from ...system.types import File, Json

Command = TypeVar("Command", bound=Callable[..., None])
# Before a default that holds where the encoder has none of its own.
OF_MODEL = "that of the run or bundle, else "


class FiniteRange(click.FloatRange):
    """A finite number in a range: `click.FloatRange` accepts NaN in any range, and infinities at an open end."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be counted with.", param, ctx)
        return number


def settings_options(
    command: str, *whole: str, recipe: str = "", inherited: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Return a decorator that adds the flags of the settings that a command honours, and `--set` for all of them.

    The help gives the values of a recipe, or of the settings, as defaults. Those of `inherited` settings or sections
    are, before these, of the run or the bundle that the command is given.
    """
    fields = honoured_fields(command)

    def is_offered(name, item):
        return item.metadata["offer"] is not SET or name.partition(".")[0] in whole

    def describe_default(name, value):
        first = "" if {name, name.partition(".")[0]}.isdisjoint(inherited) else OF_MODEL
        return first * bool(text := format_default(value)) + text

    def decorate(function):
        start = _start_settings(recipe)
        defaults = {name: describe_default(name, value) for name, value in values_by_name(start).items()}
        function = _add_set(function, command, defaults, all(is_offered(*field) for field in fields.items()))
        for name, _, item in reversed(list(walk(start))):
            if name in fields and is_offered(name, item):
                function = click.option(cls=SettingOption, setting=name, item=item, shown=defaults[name])(function)
        return function

    return decorate


def _add_set(function, command, defaults, is_whole):
    """Add `--set`, unless the settings that have flags are the whole of what the command honours."""
    return function if is_whole else click.option(cls=SetOption, command=command, defaults=defaults)(function)


def list_given_settings(values: Mapping[str, Value | None]) -> list[str]:
    """Return the names of the settings that a command's `values` hold, by a flag or by `--set`, as `walk` has them."""
    assignments = cast("Mapping[str, Value]", values.get(ASSIGNED) or {})
    names = [name for name, _, _ in walk(Settings())]
    return [name for name in names if name in assignments or values.get(make_parameter_name(name)) not in (None, ())]


def take_settings(
    values: dict[str, Value | None], config: File | None = None, recipe: str = "", searched: bool = False
) -> Settings:
    """Take the settings out of a command's `values`; those that are not given keep their value.

    `recipe` is the recipe to begin with if neither `--recipe` nor the config names one; without any the defaults. Where
    settings are `searched`, what uses a setting may come by that.
    """
    requested, named = str(values.pop(TABLE, None) or ""), list_given_settings(values)
    settings = load_settings(config, requested) if config else _start_settings(requested or recipe)
    assignments = cast("Mapping[str, Value]", values.pop(ASSIGNED, None) or {})
    for name, section, item in walk(settings):
        value = _join_lists(values.pop(make_parameter_name(name), None))
        if value is not None and name in assignments:
            raise ConfigError(f"--set {name}: {item.metadata['flag']} gives it too; leave one of them out")
        if value is not None:
            setattr(section, item.name, value)
    if assignments:
        settings = change_settings(settings, assignments, "--set")
    check_settings(settings)
    parts = settings.teacher, settings.student, settings.evaluation, settings.vocabulary
    require_effect(named, *parts, settings.pairs, settings.scorer, searched=searched)
    return settings


def _join_lists(value):
    """Return the names in all lists that an option was given, or None without any; another value as it is."""
    if isinstance(value, tuple):
        return split_names(",".join(value)) if value else None
    return value


def _start_settings(recipe):
    return recipe_settings(recipe) if recipe else Settings()


def split_names(value: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def require_writable_path(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """Return a path that will be written, as a callback of options; refuse it before the work if it cannot be."""
    from ...system.files import require_writable

    if path:
        require_writable(path)
        context.meta.setdefault(WRITTEN, {})[parameter.name] = path
    return path


def folder_option(meaning: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the option `--output`, a folder."""
    folder = click.Path(file_okay=False)
    return option(
        "--output", panel="files", main=True, required=True, type=folder, callback=require_writable_path, help=meaning
    )


def corpus_option(meaning: str, required: bool = False, default: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds the option `--corpus`, files of text."""
    help = (
        f'{meaning} A file holds one text per line or is a .jsonl file with {{"text", "language"}}. '
        "Give language=FILE if the file is not named after its language. May be repeated."
        f"{f' [default: {default}]' if default else ''}"
    )
    path = click.Path(dir_okay=False)
    return option("--corpus", panel="data", main=True, multiple=True, required=required, type=path, help=help)


def translator_option(meaning: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the option `--translator`, folders of models whose use `meaning` says."""
    help = f"{meaning} FOLDER holds a model for CTranslate2; LANGUAGE=FOLDER is for one language. May be repeated."
    return option(
        "--translator", "translators", panel="translation", multiple=True, metavar="[LANGUAGE=]FOLDER", help=help
    )


document_option = option(
    "--document-model",
    panel="encoder",
    help="Encode the documents with this encoder, which shares the vector space, such as the teacher. "
    "[default: the same encoder]",
)
config_option = option(
    "--config",
    panel="files",
    main=True,
    type=click.Path(dir_okay=False),
    help="Read settings from a file, such as a run's config.toml. Flags override it, and it overrides its recipe.",
)
beam_option = option(
    "--beam",
    panel="translation",
    type=click.IntRange(1, 64),
    help="Number of hypotheses of --translator; 1 is greedy. [default: 4]",
)

asker_option = option(
    "--model", panel="encoder", help=f"The encoder: {ENCODER_HELP}. [default: the one the index names]"
)
hybrid_option = option(
    "--hybrid",
    panel="index",
    is_flag=True,
    help="Rank by the words of the question too, and show repeated passages once.",
)
text_field_option = option(
    "--text-field",
    panel="documents",
    main=True,
    metavar="NAME",
    help="Field, or column, of a record's text. [default: text]",
)
title_field_option = option(
    "--title-field", panel="documents", metavar="NAME", help="Field of a record's title. [default: title]"
)
id_field_option = option("--id-field", panel="documents", metavar="NAME", help="Field of a record's id. [default: id]")
sentence_language_option = option(
    "--language",
    panel="passages",
    help="Language of documents that do not name theirs, used to find sentences. [default: auto]",
)


def add_limit_options(function: Command) -> Command:
    """Add the options `--most-megabytes` and `--most-seconds`, the limits of a document that is read."""
    for flag, most, help in (
        ("--most-seconds", 30, "Skip a document that takes longer to read."),
        ("--most-megabytes", 200, "Skip a document that is larger once it is unpacked."),
    ):
        kind = FiniteRange(0, min_open=True)
        function = option(flag, panel="documents", type=kind, default=most, help=help)(function)
    return function


def _json_file(context, parameter, path):
    return path if path == "-" else require_writable_path(context, parameter, path)


json_option = option(
    "--json",
    "json_path",
    panel="files",
    main=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    callback=_json_file,
    help="Write the figures to a JSON file. With - they go to standard output in place of the table.",
)


def write_figures(path: str | None, figures: Json, show: Callable[[], None]) -> None:
    """Print figures as a table, or for the path "-" of `--json` as JSON, or for a file as both."""
    if path == "-":
        print(json.dumps(figures, ensure_ascii=prints_ascii(), indent=1))
        return
    if path:
        from ...system.files import write_json

        # Before the table, whose reader may go away, as `head` does.
        write_json(path, figures)
    show()


def prints_ascii() -> bool:
    """Return True if standard output has no UTF-8, so that JSON needs escapes."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name != "utf-8"
