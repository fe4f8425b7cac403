"""Rows of a paper's tables: `distill` commands that run once, in the order of what they read, and readers of figures.

A reader takes the JSON that a row's command wrote, and gives figures by column, in per cent.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ..encoders.encoder import CARD_FILE
from ..system.input_files import read_jsonl
from ..system.progress import say
from ..system.types import Json
from ..training.log import LOG

# Commands whose seed is an option and which leave a folder.
TRAINING = ("run", "transfer", "teach", "reduce", "prune", "export")
# The events of a log that are evaluations on dev, of both stages.
EVALUATED = ("teacher", "student")
# The end of a script's name, which a row may have in place of a command of `distill`.
SCRIPT = ".py"
# Runs a command, given as its arguments, and returns its exit code.
Runner: TypeAlias = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Row:
    """A command of `distill`, or of a script, with `{runs}`, `{data}`, `{base}` and `{seed}` in it.

    `after` are rows whose files it reads. A command without `{seed}` that is no training runs once. A `run` is kept in
    a folder of the row's name; `transfer`, `teach`, `reduce`, `prune` and `export` leave an encoder there. Any other
    command, and a script, writes `--json`.
    """

    name: str
    command: str
    after: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """The command's name: `run`, `transfer`, `evaluate` or another of `distill`."""
        return self.command.split()[0]

    @property
    def seeded(self) -> bool:
        """True where the row has a result per seed."""
        return self.verb in TRAINING or "{seed}" in self.command


@dataclass(frozen=True)
class Place:
    """The folder of runs, the data, the seed and the base that rows are run with; scripts lie in `scripts`."""

    runs: Path
    data: str
    seed: int
    base: str = "muse"
    scripts: Path = Path()

    def name(self, row: Row) -> str:
        return f"{row.name}-{self.seed}" if row.seeded else row.name

    def output(self, row: Row) -> Path:
        """Return the file or the folder that is there once the row has run."""
        folder = self.runs / self.name(row)
        if row.verb in TRAINING:
            return folder / "metrics.json" if row.verb == "run" else folder
        return folder.with_name(f"{folder.name}.json")

    def fill(self, text: str) -> list[str]:
        """Return the arguments of a command, its placeholders filled."""
        values = {"runs": str(self.runs), "data": self.data, "base": self.base, "seed": str(self.seed)}
        first, *rest = [part.format(**values) for part in shlex.split(text)]
        return [str(self.scripts / first) if first.endswith(SCRIPT) else first, *rest]

    def arguments(self, row: Row) -> list[str]:
        """Return the arguments of the row's command; a run that was stopped goes on."""
        name, parts, seed = self.name(row), self.fill(row.command), ["--seed", str(self.seed)]
        if row.verb not in TRAINING:
            return [*parts, "--json", str(self.output(row))]
        if row.verb != "run":
            return [*parts, *seed, "--output", str(self.output(row))]
        if (self.runs / name / "config.toml").is_file():
            return ["run", "--resume", str(self.runs / name)]
        return [*parts, *seed, "--runs", str(self.runs), "--name", name]

    def read(self, row: Row) -> Json:
        """Return what the row wrote; None for a row that has not run."""
        path = self.output(row)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def evaluations(self, row: Row, events: Sequence[str] = EVALUATED) -> list[Json]:
        """Return the evaluations on dev of a training, the start's first; empty if it left no log."""
        path = self.runs / self.name(row) / LOG
        rows = (one for _, one in read_jsonl(path)) if path.is_file() else ()
        return [one for one in rows if one["event"] in events]

    def has_encoder(self, row: Row) -> bool:
        """Return True if the row is a training that came to its end."""
        return (self.runs / self.name(row) / CARD_FILE).is_file()


def order_rows(rows: Sequence[Row], wanted: Sequence[str]) -> list[Row]:
    """Return the wanted rows, each once and after those that it reads."""
    by_name, ordered = {row.name: row for row in rows}, {}

    def add(name):
        for other in by_name[name].after:
            add(other)
        ordered.setdefault(name, by_name[name])

    for name in wanted:
        add(name)
    return list(ordered.values())


def run_row(place: Place, row: Row, runner: Runner) -> int:
    """Run a row that has not run yet.

    Returns:
        The command's exit code, 0 where the row's result is there already. A failure is printed; it stops no other row.
    """
    if place.output(row).exists():
        return 0
    place.runs.mkdir(parents=True, exist_ok=True)
    code = runner(place.arguments(row))
    if code:
        say(f"{place.name(row)}: exit {code}; its figures are not in the table")
    return code


def run_in_process(arguments: Sequence[str], stdout: int | None = None) -> int:
    """Run a command of `distill`, or a script, in a process of its own; returns its exit code.

    Its standard output goes where `stdout` says, as `subprocess` takes it.
    """
    program = [] if arguments[0].endswith(SCRIPT) else ["-m", "distill"]
    return subprocess.run([sys.executable, *program, *arguments], stdout=stdout).returncode


def run_quietly(arguments: Sequence[str]) -> int:
    """Run a command as `run_in_process` does, without its standard output: the files that it writes have the same."""
    return run_in_process(arguments, subprocess.DEVNULL)


def command_line(arguments: Sequence[str]) -> str:
    """Return a command as a shell takes it."""
    return f"{program_of(arguments[0])} {shlex.join(arguments)}"


def program_of(command: str) -> str:
    """Return what runs a command: Python for a script, else `distill`."""
    return "python" if command.partition(" ")[0].endswith(SCRIPT) else "distill"


# From a row's JSON to figures by column, those that a paper has too and others.
Read: TypeAlias = Callable[[Json], Mapping[str, float]]
# From a row's JSON to the questions that it alone, and that the base alone, answers, by column.
Against: TypeAlias = Callable[[Json], Mapping[str, tuple[int, int]]]
# The score of each question, by column and by its id and language: what two lines are tested by.
Outcomes: TypeAlias = Mapping[str, Mapping[tuple[str, str], float]]
Scored: TypeAlias = Callable[[Json], Outcomes]


def read_outcomes(task: str, metric: str, part: str, pooled: str = "", language: str = "") -> Scored:
    """Return the reader of the scores that `distill evaluate --outcomes --json` wrote of its one encoder.

    Args:
        task: The task, such as "retrieval".
        metric: The metric, such as "p@1".
        part: The part of the task, such as "document"; a part that is not there has no scores.
        pooled: The column of the questions of all languages together; empty for a column per language.
        language: The only language of the questions; empty for all.
    """

    def read(written):
        [of] = written[task]["outcomes"].values()
        columns: dict[str, dict[tuple[str, str], float]] = {}
        for name, scores in of[metric].get(part, {}).items():
            if language in ("", name):
                columns.setdefault(pooled or name, {}).update({(id, name): one for id, one in scores.items()})
        return columns

    return read


def combine_outcomes(readers: Iterable[Scored]) -> Scored:
    """Return the reader of the columns of several."""
    every = tuple(readers)
    return lambda written: {name: of for read in every for name, of in read(written).items()}


def to_means(read: Scored) -> Read:
    """Return the reader of the means of scores, in per cent."""
    return lambda written: {
        column: 100 * sum(scores.values()) / len(scores) for column, scores in read(written).items() if scores
    }


def read_lareqa(written: Json) -> Json:
    """Return the figures that `distill evaluate --task lareqa --json` wrote of its one encoder."""
    [figures] = written["lareqa"]["encoders"].values()
    return figures
