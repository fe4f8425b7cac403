"""The command line of a paper's script: its tables' rows run, and the paper's figures stand beside ours.

Rows, tables and how they are shown come from `distill.papers`. A row is run for a seed. Its result is kept: a row whose
file is there is not run again, and a `distill run` that was stopped goes on. A row that did not run, or failed, is
named below its table.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from distill.papers.formats import to_markdown as markdown
from distill.papers.rows import Against, Place, Read, Row, command_line, run_in_process, run_row
from distill.papers.rows import order_rows as needed
from distill.papers.tables import Line, Table
from distill.papers.tables import collect_figures as figures
from distill.system.files import write_json
from distill.system.types import Json

__all__ = [
    "Line",
    "Place",
    "Row",
    "Table",
    "against",
    "corpora",
    "counts_of",
    "figures",
    "joined_figures",
    "kept_figures",
    "markdown",
    "needed",
    "of_comparison",
    "of_run",
    "paper",
    "program",
]


# What a line has by seed.
BY_SEED = ("here", "against_base", "best_of", "last", "start_kept", "dev", "questions")


def program(tables: Sequence[Table], rows: Sequence[Row], about: str, runs: str) -> None:
    """Run what is wanted, print its tables, and write them."""
    options = parse(tables, rows, about, runs)
    chosen = [table for table in tables if not options.table or table.name in options.table]
    scripts = Path(__file__).resolve().parents[1]
    places = [Place(Path(options.runs), options.data, seed, scripts=scripts) for seed in options.seeds]
    wanted = options.rows or [line.row for table in chosen for line in table.lines if line.row]
    ordered = [(place, row) for place in places for row in needed(rows, wanted)]
    if options.list:
        print_while_read(command_line(place.arguments(row)) for place, row in ordered)
        return
    for place, row in () if options.show else ordered:
        run_row(place, row, run_in_process)
    kept = kept_figures(options.json)
    now = {table.name: joined_figures(figures(table, rows, places), kept.get(table.name, {})) for table in chosen}
    now = {name: now.get(name) or kept[name] for name in [*kept, *now]}
    text = "\n\n".join(markdown(table, now[table.name]) for table in chosen)
    print(text)
    if options.json:
        write_json(options.json, now)
    if options.markdown:
        Path(options.markdown).write_text(text + "\n", encoding="utf-8")


def parse(tables, rows, about, runs):
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    names = [table.name for table in tables]
    parser.add_argument("--table", type=listed, default=[], help=f"of {', '.join(names)}; comma-separated [all]")
    parser.add_argument("--rows", type=listed, default=[], help="rows by name, in place of all that the tables have")
    parser.add_argument("--seeds", type=lambda text: [int(one) for one in listed(text)], default=[0])
    parser.add_argument("--data", default="data", help="the folder of the data sets")
    parser.add_argument("--runs", default=runs)
    parser.add_argument("--list", action="store_true", help="print the commands and run none")
    parser.add_argument("--show", action="store_true", help="run none, and show what there is")
    parser.add_argument("--json", help="also write the figures here")
    parser.add_argument("--markdown", help="also write the tables here")
    options = parser.parse_args()
    require_known(parser, "table", options.table, names)
    require_known(parser, "rows", options.rows, [row.name for row in rows])
    return options


def require_known(parser, option, wanted, names):
    unknown = sorted({*wanted} - {*names})
    if unknown:
        parser.error(f"--{option}: unknown: {', '.join(unknown)}; there are {', '.join(names)}")


def listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def print_while_read(lines: Iterable[str]) -> None:
    """Print lines, of which a program behind a pipe, such as `head`, may read the first alone."""
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:
        # What is left is flushed once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def corpora(folder: str, names: Mapping[str, str]) -> str:
    """Return options `--corpus` of a folder's files by language."""
    return " ".join(f"--corpus {language}={folder}/{name}" for language, name in names.items())


def of_comparison(side: str = "a", unit: str = "document", metric: str = "p@1") -> Read:
    """Return the reader of `distill compare --json`. `side` is "a" for its first encoder, "b" for its second."""

    def read(written):
        return {name: 100 * row[side] for name, row in written["metrics"][metric][unit].items() if name != "all"}

    return read


def against(columns: Sequence[str], unit: str = "document", metric: str = "p@1") -> Against:
    """Return the reader of `distill compare --json` for McNemar's test of its encoder `a` against `b`."""

    def read(written):
        rows = written["metrics"][metric][unit]
        return {name: (rows[name]["only_a"], rows[name]["only_b"]) for name in columns}

    return read


def counts_of(columns: Sequence[str], unit: str = "document", metric: str = "p@1") -> Callable[[Json], dict[str, int]]:
    """Return the reader of `distill compare --json` for the number of questions by language."""
    return lambda written: {name: written["metrics"][metric][unit][name]["questions"] for name in columns}


def of_run(encoder: str):
    """Return the reader of a run's `metrics.json`: P@1 by document of an encoder such as "student" on dev."""

    def read(written):
        scores = written["splits"]["dev"]["encoders"][encoder]["document"]
        return {language: 100 * score["p@1"] for language, score in scores.items()}

    return read


def paper(columns: str, values: str) -> dict[str, float]:
    """Return a paper's figures by column, without those that are a dash."""
    return {column: float(value) for column, value in zip(columns.split(), values.split(), strict=True) if value != "-"}


def kept_figures(path):
    """Return the figures by table that a file has; none without the file."""
    return json.loads(Path(path).read_text(encoding="utf-8")) if path and Path(path).is_file() else {}


def joined_figures(now, kept):
    """Return the figures by line, with those of seeds that are kept of the same command and that are not there now."""
    lines = {}
    for name, new in now.items():
        old = kept.get(name, {})
        parts = {}
        if old.get("command") == new["command"]:
            parts = {key: {**old.get(key, {}), **new.get(key, {})} for key in BY_SEED if key in old or key in new}
        lines[name] = {**new, **{key: dict(sorted(part.items())) for key, part in parts.items()}}
    return lines
