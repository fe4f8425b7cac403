"""How tables look on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..system.progress import SafeConsole


def new_console() -> Console:
    """Return a console on standard output, which is 160 columns wide if it is no terminal."""
    console = SafeConsole(highlight=False, emoji=False)
    return console if console.is_terminal else SafeConsole(highlight=False, emoji=False, width=160)


def new_table(title: str, *columns: str) -> Table:
    """Return an empty table.

    Args:
        title: its title.
        columns: the headings; the first column holds names, the others figures.
    """
    table = Table(title=Text(title), title_justify="left")
    table.add_column(columns[0], overflow="fold")  # names may be long paths; figures are never cut
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def format_percents(values: Iterable[float | None]) -> list[str]:
    """Return shares as cells in per cent; None gives an empty cell."""
    return ["" if value is None else f"{100 * value:.1f}" for value in values]


def _short(value):
    """Return a number with three digits and no exponent."""
    decimals = next((number for number, end in ((3, 0.9995), (2, 9.995), (1, 99.95)) if value < end), 0)
    return f"{value:.{decimals}f}"


def _megabytes(count):
    return "" if count is None else f"{count / 1e6:.0f}" if count >= 1e8 else f"{count / 1e6:.1f}"
