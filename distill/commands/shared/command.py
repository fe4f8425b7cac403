"""The commands and groups of commands of `distill`: help, progress, and flags of earlier versions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import cast

import click
import cloup
from cloup.formatting import HelpSection

from .help import FEW, WHOLE, PanelOption, find_title, write_examples

# Where a context keeps the paths that a command writes, {parameter: path}.
WRITTEN = "distill.written"
# The end of a sentence, which a name such as config.toml does not hold.
END = re.compile(r"(?<=[.:;])\s")


class HelpMixin(click.Command):
    """A help that ends with examples, and whose first sentence describes the command in a list."""

    def __init__(self, *args: str | None, examples: Sequence[str] = (), **more: bool) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        write_examples(self.examples, formatter)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence of the help, however long it is."""
        return END.split(" ".join((self.help or "").split()), maxsplit=1)[0].rstrip(".:;")


class Command(HelpMixin, cloup.Command):
    """A command with its options in panels.

    Off a terminal it says now and then that it is still at work, unless it is `quiet`, as it waits for questions or
    takes no time.
    """

    def __init__(
        self, *args: str | None, params: list[click.Parameter] | None = None, quiet: bool = False, **more: bool
    ) -> None:
        groups: dict[str, cloup.OptionGroup] = {}
        for option in params or ():
            if isinstance(option, PanelOption):
                title = find_title(option.panel)
                option.group = groups.setdefault(title, cloup.OptionGroup(title))
        super().__init__(*args, params=params, **more)  # type: ignore[arg-type]
        self.quiet = quiet

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), HELP_ALL]

    def format_params(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the panels with the options that this help shows, with their second columns aligned."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        sections = [self.make_option_group_help_section(group, ctx) for group in self.option_groups]
        rest = [one for one in options if not isinstance(one, PanelOption) and one is not HELP_ALL]
        rest += [HELP_ALL] if len(self.params) > FEW or ctx.meta.get(WHOLE) else []
        sections.append(HelpSection("Help", [record for one in rest if (record := one.get_help_record(ctx))]))
        if ctx.meta.get(WHOLE):
            sections += filter(
                None, (one.list_more_settings(options) for one in options if isinstance(one, PanelOption))
            )
        sections = [section for section in sections if section.definitions]
        cast(cloup.HelpFormatter, formatter).write_many_sections(sections)
        if left := sum(option.get_help_record(ctx) is None for option in options):
            formatter.write_paragraph()
            formatter.write_text(f"{left} more options: {ctx.command_path} --help-all")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            flag, options = error.option_name, [one for one in self.params if isinstance(one, PanelOption)]
            if instead := next(filter(None, (one.describe_replacement(flag) for one in options)), ""):
                raise click.NoSuchOption(flag, instead, ctx=ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> None:
        """Do what the command does, which returns nothing, unless it would write over a file that it reads."""
        _require_apart(ctx)
        if self.quiet:
            super().invoke(ctx)
            return
        from ...system.progress import phase

        with phase(str(self.name)):
            super().invoke(ctx)


def _require_apart(ctx):
    """Raise `click.BadParameter` for a file that is written and that another parameter reads or writes."""
    written = ctx.meta.get(WRITTEN, {})
    parameters = {parameter.name: parameter for parameter in ctx.command.get_params(ctx)}
    for name, path in written.items():
        for other, value in ctx.params.items():
            is_same = _is_same_place if other in written else _is_same_file
            if other != name and any(is_same(path, text) for text in _texts(value)):
                twice = f"{path} is the file of {parameters[other].get_error_hint(ctx)} too and would be replaced"
                raise click.BadParameter(f"{twice}; choose another name.", ctx=ctx, param=parameters[name])


def _texts(value) -> Iterator[str]:
    """Yield the texts of a parameter, and the parts of such as language=FILE and FILE=WEIGHT."""
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        yield from (text, text.partition("=")[2], text.rpartition("=")[0])
    elif isinstance(value, Mapping):
        yield from _texts(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _texts(one)


def _is_same_file(path, text):
    return os.path.isfile(path) and os.path.isfile(text) and os.path.samefile(path, text)


def _is_same_place(path, text):
    return bool(text) and os.path.realpath(path) == os.path.realpath(text)


class Group(HelpMixin, cloup.Group):
    """A group of commands, which suggests one for a name that is mistyped."""

    command_class = Command


def _show_all(context, option, value):
    if value and not context.resilient_parsing:
        context.meta[WHOLE] = True
        click.echo(context.get_help())
        context.exit()


HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show every option."
)
# Decorators, which take the `examples` of the help.
command, group = partial(cloup.command, cls=Command), partial(cloup.group, cls=Group)
