"""Tables of a paper, whose rows are `distill` commands: what is wanted runs, and the paper's figures stand beside.

A row is run for a seed. What it wrote is kept: a row whose file is there is not run again, and a `distill run` that was
stopped goes on. A row that did not run, or failed, is listed as "not run" and has no figure.
"""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from distill.evaluation.mcnemar import holm, mcnemar_p
from distill.system.files import write_json
from distill.system.progress import say

NOT_RUN = "not run"
# McNemar's test against the base, after Holm's correction over the languages of a row.
LEVEL, BETTER, WORSE = 0.05, "*", "†"
# Heads of what stands behind the languages, where a training's log has it.
LAST, BEST_OF = "at the end", "best of"
# Commands whose seed is an option, and which leave a folder.
TRAINING = ("run", "transfer", "teach", "reduce", "prune")


@dataclass(frozen=True)
class Row:
    """A `distill` command, with `{runs}`, `{data}` and `{seed}` in it; `after` are rows whose files it reads.

    What has no `{seed}` is run once. A `run` is kept in a folder of the row's name; `transfer`, `teach`,
    `reduce` and `prune` leave an encoder there; any other command writes `--json`.
    """

    name: str
    command: str
    after: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """What the row does: `run`, `transfer`, `evaluate` or another command of `distill`."""
        return self.command.split()[0]

    @property
    def seeded(self) -> bool:
        return self.verb in TRAINING or "{seed}" in self.command


# What a line reads out of a row's JSON: figures by column, those that the paper has too and others.
Read = Callable[[Mapping], Mapping[str, float]]
# On how many questions it alone is right, and the base alone, by column.
Against = Callable[[Mapping], Mapping[str, tuple[int, int]]]


@dataclass(frozen=True)
class Line:
    """A line of a table: the paper's figures by column, and how ours are read out of the `row`, if there is one.

    `trained` is the row whose log has the evaluations on dev that the encoder was the best of. `fixed` is what no seed
    bears on, read out of the first that ran.
    """

    name: str
    row: str = ""
    read: Read | None = None
    paper: Mapping[str, float] = field(default_factory=dict)
    # Why there is no row.
    why: str = ""
    trained: str = ""
    against: Against | None = None
    fixed: bool = False


@dataclass(frozen=True)
class Table:
    """`lines` under `columns`, with the `mean` of some of these last; `note` says what differs from the paper."""

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    mean: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Place:
    """Where rows are run: the folder of runs, that of the data, and a seed."""

    runs: Path
    data: str
    seed: int

    def name(self, row: Row) -> str:
        return f"{row.name}-{self.seed}" if row.seeded else row.name

    def output(self, row: Row) -> Path:
        """What is there once the row has run."""
        folder = self.runs / self.name(row)
        if row.verb in TRAINING:
            return folder / "metrics.json" if row.verb == "run" else folder
        return folder.with_name(f"{folder.name}.json")

    def filled(self, text: str) -> str:
        return text.format(runs=self.runs, data=self.data, seed=self.seed)

    def arguments(self, row: Row) -> list[str]:
        """The row's command, that of a run which was stopped as one that goes on."""
        name, parts, seed = self.name(row), shlex.split(self.filled(row.command)), ["--seed", str(self.seed)]
        if row.verb not in TRAINING:
            return [*parts, "--json", str(self.output(row))]
        if row.verb != "run":
            return [*parts, *seed, "--output", str(self.output(row))]
        if (self.runs / name / "config.toml").is_file():
            return ["run", "--resume", str(self.runs / name)]
        return [*parts, *seed, "--runs", str(self.runs), "--name", name]

    def read(self, row: Row) -> Mapping | None:
        """What the row wrote; None of a row that has not run."""
        path = self.output(row)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def evaluations(self, row: Row) -> list[Mapping]:
        """The evaluations on dev of a training, the start's first; none where it left no log."""
        path = self.runs / self.name(row) / "log.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [one for one in map(json.loads, lines) if one["event"] in ("teacher", "student")]


def program(tables: Sequence[Table], rows: Sequence[Row], about: str, runs: str) -> None:
    """The command line of a paper's script: run what is wanted, print its tables, and write them."""
    options = parse(tables, about, runs)
    chosen = [table for table in tables if not options.table or table.name in options.table]
    places = [Place(Path(options.runs), options.data, seed) for seed in options.seeds]
    wanted = options.rows or [line.row for table in chosen for line in table.lines if line.row]
    for place in places:
        for row in needed(rows, wanted):
            settle(place, row, options)
    if options.list:
        return
    kept = kept_figures(options.json)
    found = {table.name: joined_figures(figures(table, rows, places), kept.get(table.name, {})) for table in chosen}
    found = {name: found.get(name) or kept[name] for name in [*kept, *found]}
    text = "\n\n".join(markdown(table, found[table.name]) for table in chosen)
    print(text)
    if options.json:
        write_json(options.json, found)
    if options.markdown:
        Path(options.markdown).write_text(text + "\n", encoding="utf-8")


def parse(tables, about, runs):
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
    unknown = sorted({*options.table} - {*names})
    if unknown:
        parser.error(f"--table: no such table: {', '.join(unknown)}; there are {', '.join(names)}")
    return options


def listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def needed(rows: Sequence[Row], wanted: Sequence[str]) -> list[Row]:
    """The wanted rows, each once and after those that it reads."""
    by_name, ordered = {row.name: row for row in rows}, {}

    def add(name):
        for other in by_name[name].after:
            add(other)
        ordered.setdefault(name, by_name[name])

    for name in wanted:
        add(name)
    return list(ordered.values())


def settle(place: Place, row: Row, options: argparse.Namespace) -> None:
    """Run a row that has not run yet, or print its command; one that fails is said and left."""
    if options.list:
        print(shlex.join(["distill", *place.arguments(row)]))
    elif not options.show and not place.output(row).exists():
        place.runs.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "distill", *place.arguments(row)])
        if done.returncode:
            say(f"{place.name(row)}: exit {done.returncode}; its figures are not in the table")


def figures(table: Table, rows: Sequence[Row], places: Sequence[Place]) -> dict:
    """By line: the paper's figures, ours by seed, and the command."""
    by_name = {row.name: row for row in rows}
    return {line.name: of_line(line, by_name, places) for line in table.lines}


def of_line(line, by_name, places):
    if not line.row:
        return {"paper": dict(line.paper), "here": {}, "command": "", "why": line.why}
    row, trained = by_name[line.row], by_name.get(line.trained)
    read = {str(place.seed): place.read(row) for place in places[: None if row.seeded else 1]}
    there = [(seed, found) for seed, found in read.items() if found is not None]
    read = dict(there[:1] if line.fixed else there)
    here = {seed: dict(line.read(found)) for seed, found in read.items()}
    figures = {"paper": dict(line.paper), "here": here, "command": f"distill {(trained or row).command}"}
    if line.against and read:
        figures["against_base"] = {seed: tested(line.against(found)) for seed, found in read.items()}
    if trained:
        logs = {str(place.seed): place.evaluations(trained) for place in places}
        figures |= chosen_among({seed: log for seed, log in logs.items() if log and seed in here})
    return {name: part for name, part in figures.items() if part or name in ("paper", "here")}


def tested(counts: Mapping[str, tuple[int, int]]) -> dict[str, dict]:
    """McNemar's test of each column, corrected over all: p, and whether it is better than the base."""
    sides = [np.repeat([True, False], pair) for pair in counts.values()]
    corrected = holm([mcnemar_p(side, ~side) for side in sides])
    return {name: {"p": p, "better": a > b} for (name, (a, b)), p in zip(counts.items(), corrected, strict=True)}


def chosen_among(logs: Mapping[str, Sequence[Mapping]]) -> dict[str, dict]:
    """By seed, among how many evaluations dev chose, and what the last of them had, by language."""
    last = {seed: {name: 100 * one for name, one in log[-1].get("languages", {}).items()} for seed, log in logs.items()}
    return {"best_of": {seed: len(log) for seed, log in logs.items()}, "last": last}


def kept_figures(path: str | None) -> dict[str, dict]:
    """The figures that the file has already."""
    return json.loads(Path(path).read_text(encoding="utf-8")) if path and Path(path).is_file() else {}


def joined_figures(found: Mapping[str, dict], kept: Mapping[str, dict]) -> dict[str, dict]:
    """The figures by line, with those of seeds that the file has of the same command and that are not there now."""
    lines = {}
    for name, new in found.items():
        old = kept.get(name, {})
        same = old.get("command") == new["command"]
        by_seed = ("here", "against_base", "best_of", "last")
        parts = {
            key: {**old.get(key, {}), **new.get(key, {})} for key in by_seed if same and (key in old or key in new)
        }
        lines[name] = {**new, **{key: dict(sorted(part.items())) for key, part in parts.items()}}
    return lines


def markdown(table: Table, found: Mapping) -> str:
    """The table with a line for each of the paper's and one below it for ours."""
    behind = [
        head for head, key in ((LAST, "last"), (BEST_OF, "best_of")) if any(row.get(key) for row in found.values())
    ]
    heads = ["", *table.columns, *([f"mean of {len(table.mean)}"] if table.mean else []), *behind]
    lines = [f"### {table.title}", "", table.note, ""] if table.note else [f"### {table.title}", ""]
    lines += [joined(heads), "|" + "---|" * len(heads)]
    for name, row in found.items():
        if row["paper"]:
            lines.append(joined([f"{name}, the paper", *cells(table, [row["paper"]]), *[""] * len(behind)]))
        if row["here"]:
            seeds = ", ".join(row["here"])
            label = name if len(row["here"]) == 1 else f"{name}, seeds {seeds}"
            parts = {LAST: at_the_end(table, row), BEST_OF: most(row)}
            lines.append(joined([f"**{label}**", *marked(table, row), *[parts[head] for head in behind]]))
        else:
            why = f": {row['why']}" if row.get("why") else ""
            lines.append(joined([f"**{name}**", NOT_RUN + why, *[""] * (len(heads) - 2)]))
    return "\n".join(lines)


def joined(parts):
    return f"| {' | '.join(parts)} |"


def cells(table, several):
    """The mean over seeds of each column; of their mean over columns the standard deviation over seeds too."""
    values = [shown([one[column] for one in several if column in one]) for column in table.columns]
    if not table.mean:
        return values
    means = [float(np.mean([one[column] for column in table.mean])) for one in several if {*table.mean} <= {*one}]
    return [*values, shown(means, spread=True)]


def marked(table, row):
    """The cells of our figures, with the mark of each that differs from the base in every seed."""
    by_seed = row.get("against_base", {})
    values = cells(table, list(row["here"].values()))
    marks = [mark([by_seed.get(seed, {}).get(column) for seed in row["here"]]) for column in table.columns]
    return [value + mark for value, mark in zip(values, [*marks, ""][: len(values)], strict=True)]


def mark(tests):
    """What stands behind a figure whose tests these are, of each seed; None of one without."""
    for sign, better in ((BETTER, True), (WORSE, False)):
        if all(one and one["p"] < LEVEL and one["better"] == better for one in tests):
            return sign
    return ""


def at_the_end(table, row):
    """The mean of the last evaluation, where that has its languages."""
    last = list(row.get("last", {}).values())
    return cells(table, last)[-1] if table.mean else ""


def most(row):
    """Among how many evaluations dev chose, the fewest and the most of the seeds."""
    counts = sorted({*row.get("best_of", {}).values()})
    return " to ".join(str(count) for count in dict.fromkeys([*counts[:1], *counts[-1:]]))


def shown(values, spread=False):
    if not values:
        return ""
    deviation = f" ± {np.std(values, ddof=1):.1f}" if spread and len(values) > 1 else ""
    return f"{np.mean(values):.1f}{deviation}"


def percent(scores: Mapping[str, Mapping[str, float]], metric: str = "p@1") -> dict[str, float]:
    """`{language: per cent}` of `{language: {metric: share}}`."""
    return {language: 100 * score[metric] for language, score in scores.items()}


def of_run(encoder: str, unit: str = "document", metric: str = "p@1") -> Read:
    """What a run measured of one of its encoders on dev, by language."""
    return lambda found: percent(found["splits"]["dev"]["encoders"][encoder][unit], metric)


def of_evaluation(place: int, unit: str = "document", metric: str = "p@1") -> Read:
    """What `distill evaluate --json` wrote of the encoder at a place among those that it measured, by language."""

    def read(found):
        return percent(list(found["retrieval"]["encoders"].values())[place]["units"][unit], metric)

    return read


def of_comparison(side: str = "a", unit: str = "document", metric: str = "p@1") -> Read:
    """What `distill compare --json` wrote of its encoder `a` or of `b`, by language."""

    def read(found):
        return {name: 100 * row[side] for name, row in found["metrics"][metric][unit].items() if name != "all"}

    return read


def against(columns: Sequence[str], unit: str = "document", metric: str = "p@1") -> Against:
    """On how many questions `a` alone, and `b` alone, of `distill compare --json` is right, in these languages."""

    def read(found):
        rows = found["metrics"][metric][unit]
        return {name: (rows[name]["only_a"], rows[name]["only_b"]) for name in columns}

    return read


def of_lareqa(found: Mapping) -> Mapping:
    """What `distill evaluate --task lareqa --json` wrote of its one encoder."""
    [figures] = found["lareqa"]["encoders"].values()
    return figures


def corpora(folder: str, names: Mapping[str, str]) -> str:
    """Options `--corpus` of a folder's files by language."""
    return " ".join(f"--corpus {language}={folder}/{name}" for language, name in names.items())


def paper(columns: str, values: str) -> dict[str, float]:
    """Figures of a paper, as they stand in its table under these columns."""
    return {column: float(value) for column, value in zip(columns.split(), values.split(), strict=True) if value != "-"}
