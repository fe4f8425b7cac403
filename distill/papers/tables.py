"""Tables of a paper: lines that read rows' figures by seed, tested against the base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import numpy as np

from ..evaluation.mcnemar import correct_holm, mcnemar_p
from ..evaluation.paired_comparison import compare_rows
from ..evaluation.resampling import sign_flip_p
from ..system.types import Json
from ..training.log import START_KEPT, read_outcome
from .rows import EVALUATED, Against, Outcomes, Place, Read, Row, Scored, program_of


class ColumnTest(TypedDict):
    """The test of a column against the base, corrected over the columns of its line."""

    p: float
    better: bool


class LineFigures(TypedDict, total=False):
    """The figures of a line by column: the paper's, and `here` by seed.

    By seed too are the tests `against_base`, `best_of`, the number of evaluations among which dev chose, `last`, what
    the last of them had, and `start_kept`, whether dev chose the start. Lines of another metric than the log's have no
    `last`, but `dev`: P@1 on dev, of the evaluation that was chosen and of the last one. `questions` are counts.
    """

    paper: dict[str, float]
    here: dict[str, dict[str, float]]
    command: str
    why: str
    against_base: dict[str, dict[str, ColumnTest]]
    best_of: dict[str, int]
    last: dict[str, dict[str, float]]
    start_kept: dict[str, bool]
    dev: dict[str, tuple[float, float]]
    questions: dict[str, dict[str, int]]


TableFigures: TypeAlias = dict[str, LineFigures]


class PairTest(TypedDict):
    """The test of a line against another: `difference` with its 95 % interval in points, p before and after Holm."""

    line: str
    other: str
    difference: float
    low: float
    high: float
    test: str
    p: float
    p_holm: float
    questions: int
    clusters: int


class TablePairs(TypedDict):
    """Each two lines of a table, tested by a metric on the questions of all languages and seeds together."""

    metric: str
    languages: list[str]
    seeds: list[str]
    pairs: list[PairTest]


@dataclass(frozen=True)
class Line:
    """A line of a table: the paper's figures by column, and how ours are read out of the `row`, if there is one.

    `trained` is the row whose log has the evaluations on dev among which the encoder was the best. `fixed` is what no
    seed bears on: it is read out of the first that ran. A `logged` line reads a metric that the log has too. If its row
    did not run, its figures are those of the evaluation on dev that was chosen. `why` says why there is no row.

    A line is tested by `against`, or, where `scored` reads the scores of its questions, against those that the reader
    of `beside` finds in the row that it names. `counted` reads the numbers of questions of a line without scores.
    `events` are those of its evaluations in the log.
    """

    name: str
    row: str = ""
    read: Read | None = None
    paper: Mapping[str, float] = field(default_factory=dict)
    why: str = ""
    trained: str = ""
    against: Against | None = None
    fixed: bool = False
    logged: bool = False
    scored: Scored | None = None
    beside: tuple[str, Scored] | None = None
    counted: Callable[[Json], Mapping[str, int]] | None = None
    events: tuple[str, ...] = EVALUATED

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.row, self.beside and self.beside[0])))


@dataclass(frozen=True)
class Table:
    """`lines` under `columns`, with the `mean` of some of these last; `note` says what differs from the paper.

    Each two lines are tested by the metric `tested`, such as "P@1", where there is one: it is the name of a column, or
    that of all columns, if these are languages.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    mean: tuple[str, ...] = ()
    note: str = ""
    tested: str = ""


def collect_figures(table: Table, rows: Sequence[Row], places: Sequence[Place]) -> TableFigures:
    """Return the figures of a table's lines. `places` are the places where the rows ran, one per seed."""
    by_name = {row.name: row for row in rows}
    return {line.name: _of_line(line, by_name, places) for line in table.lines}


def _of_line(line, by_name, places) -> LineFigures:
    if not line.row:
        return {"paper": dict(line.paper), "here": {}, "command": "", "why": line.why}
    row, trained = by_name[line.row], by_name.get(line.trained)
    read = {str(place.seed): place.read(row) for place in places[: None if row.seeded else 1]}
    there = [(seed, written) for seed, written in read.items() if written is not None]
    read = dict(there[:1] if line.fixed else there)
    here = {seed: dict(line.read(written)) for seed, written in read.items()}
    command = (trained or row).command
    figures: LineFigures = {"paper": dict(line.paper), "here": here, "command": f"{program_of(command)} {command}"}
    _add_tests(figures, line, read, by_name, places)
    if trained:
        logs = {str(place.seed): log for place in places if (log := place.evaluations(trained, line.events))}
        if line.logged:
            ended = {str(place.seed) for place in places if place.has_encoder(trained)}
            here |= {seed: _read_chosen(log) for seed, log in logs.items() if seed in ended - {*here}}
        _add_evaluations(figures, {seed: log for seed, log in logs.items() if seed in here}, line.logged)
        # A student begins with its teacher, which is not the base.
        if line.beside and line.beside[0] != line.row and trained.verb != "transfer":
            _leave_out_kept(figures)
    return figures


def _add_tests(figures, line, read, by_name, places):
    """Add the tests by seed, and the numbers of questions."""
    if line.against and read:
        figures["against_base"] = {seed: compare_columns(line.against(written)) for seed, written in read.items()}
    if line.counted and read:
        figures["questions"] = {seed: dict(line.counted(written)) for seed, written in read.items()}
    scores = {seed: line.scored(written) for seed, written in read.items()} if line.scored else {}
    if scores:
        counts = {seed: {name: len(of) for name, of in columns.items()} for seed, columns in scores.items()}
        figures["questions"] = counts
    if line.beside and scores:
        row, scored = line.beside
        others = {str(place.seed): place.read(by_name[row]) for place in places}
        figures["against_base"] = {
            seed: compare_outcomes(of, scored(others[seed])) for seed, of in scores.items() if others[seed]
        }


def _leave_out_kept(figures):
    """Leave out the tests of an encoder that is the start itself, from which it differs by the rounding of a bundle."""
    kept = figures.get("start_kept", {})
    if tests := figures.get("against_base"):
        figures["against_base"] = {seed: of for seed, of in tests.items() if not kept.get(seed)}


def _read_chosen(log):
    """Return the figures by language of the evaluation that dev chose, the first of the best."""
    best = max(log, key=_p1)
    return {name: 100 * one for name, one in best.get("languages", {}).items()}


def _p1(one):
    return one.get("p@1", 0.0)


def _add_evaluations(figures, logs, logged):
    """Add the number of evaluations on dev by seed, whether dev chose the start, and the last one's figures."""
    if logs:
        figures["best_of"] = {seed: sum(START_KEPT not in one for one in log) for seed, log in logs.items()}
        # A run has both stages in its log, and its line is that of the last one.
        ends = {seed: [one for one in log if one["event"] == log[-1]["event"]] for seed, log in logs.items()}
        outcomes = {seed: read_outcome(rows) for seed, rows in ends.items()}
        figures["start_kept"] = {seed: one.kept_start for seed, one in outcomes.items() if one}
        last = {seed: [one for one in log if START_KEPT not in one][-1] for seed, log in logs.items()}
    if logs and not logged:
        figures["dev"] = {seed: (100 * max(map(_p1, logs[seed])), 100 * _p1(one)) for seed, one in last.items()}
    if logs and logged:
        figures["last"] = {
            seed: {name: 100 * one for name, one in row.get("languages", {}).items()} for seed, row in last.items()
        }


def compare_columns(counts: Mapping[str, tuple[int, int]]) -> dict[str, ColumnTest]:
    """Compare columns with the base by McNemar's test, with Holm's correction over all of them.

    `counts` are, by column, the questions that only the encoder and that only the base answers.
    """
    sides = [np.repeat([True, False], pair) for pair in counts.values()]
    corrected = correct_holm([mcnemar_p(side, ~side) for side in sides])
    return {name: {"p": p, "better": a > b} for (name, (a, b)), p in zip(counts.items(), corrected, strict=True)}


def collect_outcomes(
    table: Table, rows: Sequence[Row], place: Place, column: str = ""
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of a seed's lines that ran: `{line: {language: {question id: score}}}`.

    They are those of a column, or of all columns where each is a language, in the form in which any two lines can be
    tested against each other.
    """
    by_name, lines = {row.name: row for row in rows}, {}
    for line in table.lines:
        if line.scored and (written := place.read(by_name[line.row])) is not None:
            of: dict[str, dict[str, float]] = {}
            for name, scores in line.scored(written).items():
                for (id, language), score in scores.items() if column in ("", name) else ():
                    of.setdefault(language, {})[id] = score
            lines[line.name] = of
    return lines


def compare_lines(table: Table, rows: Sequence[Row], places: Sequence[Place]) -> TablePairs | None:
    """Test each two lines that ran, with Holm's correction over all pairs; None without two lines that have scores.

    The questions of all languages are tested together, and those of all seeds that each of these lines has: all
    translations and seeds of a question flip together.
    """
    column = table.tested if table.tested in table.columns else ""
    by_seed = {str(place.seed): collect_outcomes(table, rows, place, column) for place in places if table.tested}
    names = [line.name for line in table.lines if any(of.get(line.name) for of in by_seed.values())]
    shared = {seed: of for seed, of in by_seed.items() if all(of.get(name) for name in names)}
    if len(names) < 2 or not shared:
        return None
    scores = {
        name: {f"{seed} {language}": of for seed, lines in shared.items() for language, of in lines[name].items()}
        for name in names
    }
    compared = compare_rows(scores, table.tested.lower())
    pairs = [_describe_pair(*pair, one) for pair, one in compared.items()]
    languages = dict.fromkeys(language for lines in shared.values() for language in lines[names[0]])
    return {"metric": table.tested, "languages": [*languages], "seeds": [*shared], "pairs": pairs}


def _describe_pair(line, other, compared) -> PairTest:
    return {
        "line": line,
        "other": other,
        "difference": 100 * compared.difference,
        "low": 100 * compared.low,
        "high": 100 * compared.high,
        "test": compared.test,
        "p": compared.p,
        "p_holm": compared.p_holm,
        "questions": compared.questions,
        "clusters": compared.clusters,
    }


def compare_outcomes(ours: Outcomes, others: Outcomes) -> dict[str, ColumnTest]:
    """Test the columns that both have, by the questions that both have, with Holm's correction over all of them.

    Scores of 0 and 1 in one language are tested by McNemar's test, others by sign flips of questions with all their
    languages.
    """
    tests: dict[str, tuple[float, bool]] = {}
    for name in (name for name in ours if others.get(name)):
        keys = [key for key in ours[name] if key in others[name]]
        a, b = (np.array([of[name][key] for key in keys]) for of in (ours, others))
        ids = [id for id, _ in keys]
        if {*np.unique(a), *np.unique(b)} <= {0.0, 1.0} and len({*ids}) == len(ids):
            p = mcnemar_p(a == 1, b == 1)
        else:
            p = sign_flip_p(a - b, ids)
        tests[name] = (p, bool(a.mean() > b.mean()))
    corrected = correct_holm([p for p, _ in tests.values()])
    return {name: {"p": p, "better": tests[name][1]} for name, p in zip(tests, corrected, strict=True)}
