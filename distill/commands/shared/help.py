"""Options in named panels, completions of their values, and examples at the end of a help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import click
import cloup
from cloup.formatting import HelpSection

from ...settings.recipe import recipe_names

if TYPE_CHECKING:
    from ...settings.sections import Value
    from ...system.types import Json

# Titles of panels beside those of the settings' sections, by the names that options give.
TITLES = {
    "files": "General",
    "search": "Search",
    "encoder": "Encoder",
    "index": "Index",
    "hits": "Results",
    "documents": "Documents",
    "passages": "Passages",
    "stored": "Stored data",
    "engine": "Encoding process",
    "input": "Input",
    "output": "Output",
    "page": "Web page",
    "format": "Format",
    "server": "Server",
    "limits": "Limits",
    "timing": "Timing",
    "peers": "Encoders to compare with",
}
# A command with no more parameters than these shows them all in its short help.
FEW = 23
# The width of a terminal for which helps are written.
WIDTH = 80
# The key of a context under which `--help-all` leaves that every option is shown.
WHOLE = "distill.every-option"


# What `click.Option` takes by name.
Attribute: TypeAlias = "Value | click.ParamType | Callable[..., Value | Json | list[str] | None] | None"


class PanelOption(cloup.Option):
    """An option of a panel: a section of the settings or a key of `TITLES`. Short help has only `main` ones.

    The help shows its default, unless that is empty, or a flag's, or the text itself says it.
    """

    def __init__(self, declared: Sequence[str], panel: str, main: bool = False, **attributes: Attribute) -> None:
        default, is_told = attributes.get("default"), "[default:" in str(attributes.get("help"))
        is_shown = default not in (None, "") and not isinstance(default, bool) and not is_told
        super().__init__(declared, **{"show_default": is_shown, **attributes})  # type: ignore[arg-type]
        self.panel, self.main = panel, main
        if isinstance(self.type, click.Choice) and self._is_wide(self.type.choices):
            before, mark, default = (self.help or "").partition(" [default:")
            self.metavar, self.help = "NAME", f"{before} One of {', '.join(self.type.choices)}.{mark}{default}"

    def _is_wide(self, choices: Sequence[str]) -> bool:
        """Return True if flags and choices do not fit a line of a help, which are then told in its text."""
        return len(f"  {', '.join(self.opts)} [{'|'.join(choices)}]") > WIDTH

    def describe_replacement(self, flag: str) -> str:
        """Return a message on what takes the place of a flag that the command does not have; empty if nothing does."""
        return ""

    def list_more_settings(self, options: Iterable[click.Option]) -> HelpSection | None:
        """Return the section of a whole help on what can be given by this option alone, None if there is none."""
        return None

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flags and the help, None if this help leaves the option out."""
        return super().get_help_record(ctx) if self.main or shows_all(ctx) else None


# A decorator that adds a `PanelOption`: it takes what `click.option` takes, `panel` and `main`.
option = partial(click.option, cls=PanelOption)


def count_option(
    *declared: str, least: int = 1, most: int | None = None, **attributes: Attribute
) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Return a decorator that adds an option of a whole number; the rest is as for `option`."""
    return option(*declared, type=click.IntRange(least, most), **attributes)  # type: ignore[arg-type]


def find_title(panel: str) -> str:
    if panel in TITLES:
        return TITLES[panel]
    from ...settings.sections import Settings

    return {item.name: item.metadata.get("title", "") for item in fields(Settings)}[panel]


def shows_all(context: click.Context) -> bool:
    """Return True if a help shows every option: by `--help-all`, or as the command has few."""
    return bool(context.meta.get(WHOLE)) or len(context.command.params) <= FEW


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write command lines under a heading, unchanged so that they can be copied."""
    if examples:
        formatter.write_paragraph()
        formatter.write_heading("Examples" if len(examples) > 1 else "Example")
        for example in examples:
            formatter.write("".join(f"  {line}\n" for line in example.splitlines()))


def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of recipes that begin with what is typed, for a shell."""
    return [name for name in recipe_names() if name.startswith(incomplete)]
