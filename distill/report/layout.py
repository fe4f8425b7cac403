"""How tables look on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text, TextType

from ..system.progress import SafeConsole

# Wider than any table is.
WIDEST = 10_000


def new_console() -> Console:
    """Return a console on standard output, which is 160 columns wide if it is no terminal."""
    console = SafeConsole(highlight=False, emoji=False)
    return console if console.is_terminal else SafeConsole(highlight=False, emoji=False, width=160)


class FoldingTable(Table):
    """A table that goes on below itself on a narrow terminal; each part repeats the first `names` columns."""

    names = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in self._fold(console, options):
            yield from Table.__rich_console__(part, console, options)

    def _fold(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Yield parts as wide as the terminal at most, but for one column that is wider by itself."""
        left = [_narrow(column, options.max_width // 3) for column in self.columns[: self.names]]
        part, title = self._select(left, self.title), None
        for column in self.columns[self.names :]:
            longer = self._select([*part.columns, column], part.title)
            if len(part.columns) > len(left) and _measure_width(longer, console, options) > options.max_width:
                yield part
                longer = self._select([*left, column], title)
            part = longer
        # A table that is whole may have its names as wide as there is room for.
        yield self if len(part.columns) == len(self.columns) else part

    def _select(self, columns: list[Column], title: TextType | None) -> Table:
        part = copy(self)
        part.columns, part.title = columns, title
        return part


def _narrow(column: Column, width: int) -> Column:
    """Return a column whose texts are folded at a width, unless they are never folded."""
    return column if column.no_wrap else replace(column, max_width=width)


def _measure_width(table: Table, console: Console, options: ConsoleOptions) -> int:
    return Table.__rich_measure__(table, console, options.update_width(WIDEST)).maximum


def new_table(title: str, *columns: str, names: int = 1) -> Table:
    """Return an empty table, of which the first `names` columns say what a row is; others may go on below them."""
    table = FoldingTable(title=Text(title), title_justify="left")
    table.names = names
    table.add_column(columns[0], overflow="fold")  # names may be long paths; figures are never cut
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def format_percents(values: Iterable[float | None]) -> list[str]:
    """Return shares as cells in per cent; None gives an empty cell."""
    return ["" if value is None else f"{100 * value:.1f}" for value in values]


def format_p_value(p: float) -> str:
    """Return a p value with three digits and without the zero before the point; a very small one is < .001."""
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _short(value):
    """Return a number with three digits and no exponent."""
    decimals = next((number for number, end in ((3, 0.9995), (2, 9.995), (1, 99.95)) if value < end), 0)
    return f"{value:.{decimals}f}"


def _megabytes(count):
    return "" if count is None else f"{count / 1e6:.0f}" if count >= 1e8 else f"{count / 1e6:.1f}"
