"""The scripts of benchmarks/papers: rows are commands that there are, tables say what has run and what not."""

import json
import shlex
import statistics
import sys
from importlib import import_module

import click
import pytest
from fixtures.commands import ROOT

from distill.cli import cli

HELPERS = ("rows", "page")
SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks" / "papers").glob("*.py") if path.stem not in HELPERS)


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "papers"))
    yield import_module
    for name in (*HELPERS, *SCRIPTS):
        sys.modules.pop(name, None)


def asked(words):
    """The command that words begin with."""
    group, context = cli, click.Context(cli)
    for word in words:
        command = group.get_command(context, word)
        if not isinstance(command, click.Group):
            return command
        group = command


@pytest.mark.parametrize("script", SCRIPTS)
def test_rows_are_commands_with_options_that_there_are(module, script):
    for row in module(script).ROWS:
        command = asked(shlex.split(row.command))
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {part for part in shlex.split(row.command) if part.startswith("--")} <= options, row.name


@pytest.mark.parametrize("script", SCRIPTS)
def test_tables_name_rows_and_columns_that_they_have(module, script):
    rows = {row.name for row in module(script).ROWS}
    for table in module(script).TABLES:
        assert {line.row for line in table.lines if line.row} <= rows
        assert {*table.mean} <= {*table.columns}
        assert all({*line.paper} <= {*table.columns} and (line.row or line.why) for line in table.lines)
    assert {name for row in module(script).ROWS for name in row.after} <= rows


def test_a_row_comes_after_what_it_reads_and_a_stopped_run_goes_on(module, tmp_path):
    rows = module("rows")
    first, second = rows.Row("a", "run --epochs 1"), rows.Row("b", "evaluate {runs}/a-{seed} --split dev", ("a",))
    assert rows.needed((second, first), ("b", "a", "b")) == [first, second]
    place = rows.Place(tmp_path, "data", 2)
    assert place.arguments(first) == ["run", "--epochs", "1", "--seed", "2", "--runs", str(tmp_path), "--name", "a-2"]
    expected = ["evaluate", f"{tmp_path}/a-2", "--split", "dev", "--json", f"{tmp_path}/b-2.json"]
    assert place.arguments(second) == expected
    (tmp_path / "a-2").mkdir()
    (tmp_path / "a-2" / "config.toml").touch()
    assert place.arguments(first) == ["run", "--resume", str(tmp_path / "a-2")]


def test_a_table_has_the_papers_figures_the_mean_over_seeds_and_what_did_not_run(module, tmp_path):
    rows = module("rows")
    for seed, (german, thai) in {0: (0.5, 0.25), 1: (0.6, 0.75)}.items():
        (tmp_path / f"a-{seed}").mkdir()
        units = {"document": {"de": {"p@1": german}, "th": {"p@1": thai}}}
        text = json.dumps({"splits": {"dev": {"encoders": {"student": units}}}})
        (tmp_path / f"a-{seed}" / "metrics.json").write_text(text)
    read, published = rows.of_run("student"), rows.paper("de th", "61.5 -")
    lines = rows.Line("A", "a", read, published), rows.Line("B", "b", read), rows.Line("C", why="no weights")
    table = rows.Table("1", "Table 1", ("de", "th"), lines, mean=("de", "th"))
    places = [rows.Place(tmp_path, "data", seed) for seed in (0, 1)]
    shown = rows.figures(table, (rows.Row("a", "run"), rows.Row("b", "run")), places)
    assert shown["A"]["here"] == {"0": {"de": 50, "th": 25}, "1": {"de": 60, "th": 75}}
    spread = statistics.stdev([37.5, 67.5])
    assert rows.markdown(table, shown).splitlines()[2:] == [
        "|  | de | th | mean of 2 |",
        "|---|---|---|---|",
        "| A, the paper | 61.5 |  |  |",
        f"| **A, seeds 0, 1** | 55.0 | 50.0 | 52.5 ± {spread:.1f} |",
        "| **B** | not run |  |  |",
        "| **C** | not run: no weights |  |  |",
    ]


def test_the_page_is_of_the_figures_as_they_are(module):
    text = (ROOT / "docs" / "paper-tables.md").read_text(encoding="utf-8")
    assert text == module("page").page(), "write it anew: python benchmarks/papers/page.py"
