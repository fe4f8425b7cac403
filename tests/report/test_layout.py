"""How tables fit a terminal, checked on one of 80 columns."""

import re

import pytest
from rich.console import Console

from distill.report.layout import format_p_value, new_table

TWELVE = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]


def show(table, width=80):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def cells(line):
    return [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]


def twelve(first="encoder", names=1):
    """A table of twelve languages, 113 columns wide."""
    table = new_table("scores", first, *["kind"] * (names - 1), *TWELVE, names=names)
    return table, ["p@1"] * (names - 1), [f"{number}2.34" for number in range(10, 22)]


@pytest.mark.parametrize("names", [1, 2])
def test_columns_go_on_below_with_the_names_of_their_rows(names):
    table, kinds, values = twelve(names=names)
    table.add_row("student", *kinds, *values)
    table.add_row("base", *kinds, *values)
    lines = show(table).splitlines()
    assert max(map(len, lines)) <= 80
    heads, rows = ([cells(line) for line in lines if line[0] == mark] for mark in "┃│")
    assert len(heads) == 2 and [row[0] for row in rows] == ["student", "base"] * 2
    assert heads[0][names:] + heads[1][names:] == TWELVE
    assert rows[0][names:] + rows[2][names:] == rows[1][names:] + rows[3][names:] == values
    assert [line.strip() for line in lines].count("scores") == 1


def test_a_table_that_fits_is_left_whole_and_a_long_name_is_folded_before_figures_go_below():
    table, _, values = twelve()
    table.add_row("student", *values)
    assert show(table, 160).count("┏") == 1
    table = new_table("scores", "encoder", "en", "de")
    table.add_row("/folder" * 30, "50.0", "60.0")
    out = show(table)
    assert (
        out.count("┏") == 1 and "".join(cells(line)[0] for line in out.splitlines() if line[0] == "│") == "/folder" * 30
    )


def test_a_figure_that_is_wider_than_a_part_stands_by_itself():
    table = new_table("scores", "encoder", "a", "b")
    table.add_row("student", "+21.1 (+10.7 to +31.6)", "x" * 60)
    out = show(table)
    assert out.count("┏") == 2 and "x" * 60 in out and "…" not in out


def test_a_p_value_has_three_digits_and_no_zero_before_the_point():
    shown = [format_p_value(p) for p in (1e-9, 0.00099, 0.001, 0.003, 0.0312, 0.9996, 1.0)]
    assert shown == ["< .001", "< .001", ".001", ".003", ".031", "1.000", "1.000"]
