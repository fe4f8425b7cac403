"""How tables look on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text


def new_console():
    console = Console(highlight=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, emoji=False, width=160)


def new_table(title, *columns):
    table = Table(title=Text(title), title_justify="left")
    table.add_column(columns[0], overflow="fold")  # names may be long paths; figures are never cut
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def percents(values):
    """Cells in per cent; None is left empty."""
    return ["" if value is None else f"{100 * value:.1f}" for value in values]


def _short(value):
    """Three digits, never an exponent."""
    decimals = next((number for number, end in ((3, 0.9995), (2, 9.995), (1, 99.95)) if value < end), 0)
    return f"{value:.{decimals}f}"


def _megabytes(count):
    return "" if count is None else f"{count / 1e6:.0f}" if count >= 1e8 else f"{count / 1e6:.1f}"
