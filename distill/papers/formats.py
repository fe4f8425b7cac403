"""A paper's tables as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..report.layout import format_p_value
from .tables import ColumnTest, LineFigures, PairTest, Table, TableFigures, TablePairs

# A longer list of lines below a table ends with the number of the others.
MOST_NAMES = 4
NOT_RUN = "not run"
# The test against the base, after Holm's correction over the languages of a row.
LEVEL, BETTER, WORSE = 0.05, "*", "†"
# Headings behind the columns, where a training's log has what they name.
LAST, BEST_OF = "at the end", "best of"
# P@1 on dev of a line by another metric: of the evaluation that dev chose and of the last one. Questions per column.
DEV, COUNT = "dev, chosen / last", "N"
CSV_HEADS = (
    *("table", "line", "column", "seed", "value", "p_holm", "better_than_base", "last", "best_of", "start_kept"),
    *("dev_chosen", "dev_last", "questions", "command"),
)
SPECIAL = str.maketrans({**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "\\": r"\textbackslash{}"})
SIGNS = {BETTER: "$^{*}$", WORSE: r"$^{\dagger}$", "±": r"$\pm$", "<": "$<$", ">": "$>$"}


def to_markdown(table: Table, figures: TableFigures, tested: TablePairs | None = None) -> str:
    """Return a table as Markdown, the paper's lines in plain type and ours below them in bold.

    Pairs that differ are named below it, and lines that have not run. `figures` are the figures by line, as
    `tables.collect_figures` returns them, and `tested` is what `tables.compare_lines` returns.
    """
    heads = _headings(table, figures)
    lines = []
    for name, row in figures.items():
        if row["paper"]:
            lines.append(_join([f"{name}, paper", *_paper_cells(table, row, len(heads))]))
        if row["here"]:
            lines.append(_join([f"**{_label(name, row)}**{_describe_kept(row)}", *_our_cells(table, row, heads)]))
    head = [_join(["", *heads]), "|" + "---|" * (len(heads) + 1)] if lines else []
    pairs = [wrap(_head_pairs(tested)), "\n".join(wrap(f"- {one}", "  ") for one in _list_pairs(tested, "**{}**"))]
    parts = [f"### {table.title}", wrap(table.note), "\n".join([*head, *lines]), *pairs, *_missing(figures)]
    return "\n\n".join(filter(None, parts))


def to_latex(table: Table, figures: TableFigures, about: str = "", tested: TablePairs | None = None) -> str:
    """Return a table for LaTeX with the package booktabs. Title and note of the table make the caption.

    Pairs that differ are named below it.
    """
    heads = _headings(table, figures)
    body = []
    for name, row in figures.items():
        if row["paper"]:
            body.append([f"{name}, the paper", *_paper_cells(table, row, len(heads))])
        ours = _our_cells(table, row, heads) if row["here"] else [_reason(row), *[""] * (len(heads) - 1)]
        body.append([f"{_label(name, row)}{_describe_kept(row)}", *ours])
    caption = " ".join(filter(None, (f"{table.title}.", table.note, about)))
    pairs = " ".join(f"{one}." for one in (_head_pairs(tested).rstrip(".:"), *_list_pairs(tested)) if one)
    below = [rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {_escape(pairs)}\end{{minipage}}"]
    lines = [" & ".join(map(_escape, cells)) + r" \\" for cells in (["", *heads], *body)]
    return "\n".join(
        [
            *(r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * len(heads)}}}", r"\toprule"),
            *(lines[0], r"\midrule", *lines[1:]),
            *(r"\bottomrule", r"\end{tabular}", *(below if tested else ()), rf"\caption{{{_escape(caption)}}}"),
            r"\end{table}",
        ]
    )


def to_csv(tables: Sequence[Table], figures: Mapping[str, TableFigures]) -> str:
    """Return tables as CSV, one figure per line, with its seed and its test."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    for table in tables:
        for name, row in figures[table.name].items():
            writer.writerows([table.name, name, *cells] for cells in _values(row))
    return text.getvalue()


def to_pairs_csv(pairs: Mapping[str, TablePairs]) -> str:
    """Return the tests of each two lines by table as CSV, a pair per line; differences are in points."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["table", "metric", "seeds", *PairTest.__annotations__], lineterminator="\n")
    writer.writeheader()
    for table, tested in pairs.items():
        of = {"table": table, "metric": tested["metric"], "seeds": " ".join(tested["seeds"])}
        writer.writerows({**of, **one} for one in tested["pairs"])
    return text.getvalue()


def _head_pairs(tested: TablePairs | None) -> str:
    """Return the sentence that says what the pairs of a table are tested by, and how many differ."""
    if not tested:
        return ""
    every, seeds = len(tested["pairs"]), tested["seeds"]
    count = sum(one["p_holm"] < LEVEL for one in tested["pairs"])
    show = f"{count or 'none'} show{'s' * (count < 2)} a difference by {tested['metric']}"
    of = f"{len(tested['languages'])} languages" + f", seeds {', '.join(seeds)}" * (len(seeds) > 1)
    told = f"Of {every} pair{'s' * (every > 1)} of lines, {show} of all questions ({of}; p after Holm's correction)"
    return f"{told}{':' if count else '.'}"


def _list_pairs(tested: TablePairs | None, bold: str = "{}") -> Iterator[str]:
    """Yield, for each line that is above others, its name, and theirs with the difference in points and p."""
    others: dict[str, list[str]] = {}
    for one in tested["pairs"] if tested else ():
        if one["p_holm"] < LEVEL:
            above, below = (one["line"], one["other"])[:: 1 if one["difference"] > 0 else -1]
            p = format_p_value(one["p_holm"])
            told = f"{below} ({abs(one['difference']):.1f} points, p {p if p[0] == '<' else f'= {p}'})"
            others.setdefault(above, []).append(told)
    yield from (f"{bold.format(name)} is above {'; '.join(below)}" for name, below in others.items())


def _values(row: LineFigures) -> Iterator[Sequence[str | float]]:
    """Yield the cells of a figure behind its table and line, as `CSV_HEADS` names them."""
    for column, value in row["paper"].items():
        yield column, "paper", value, *[""] * 9
    for seed, values in row["here"].items():
        tests: Mapping[str, ColumnTest] = row.get("against_base", {}).get(seed, {})
        last = row.get("last", {}).get(seed, {})
        best: str | float = row.get("best_of", {}).get(seed, "")
        kept = str(row.get("start_kept", {}).get(seed, "")).lower()
        for column, value in values.items():
            test = tests.get(column)
            tested = (test["p"], str(test["better"]).lower()) if test else ("", "")
            behind = *row.get("dev", {}).get(seed, ("", "")), row.get("questions", {}).get(seed, {}).get(column, "")
            yield column, seed, value, *tested, last.get(column, ""), best, kept, *behind, row["command"]


def _headings(table: Table, figures: TableFigures) -> list[str]:
    """Return the names of the cells of a line: columns, their mean, and what logs have."""
    logged = [*([(LAST, "last")] if table.mean else []), (BEST_OF, "best_of")]
    logged += [(DEV, "dev"), (COUNT, "questions")]
    behind = [head for head, key in logged if any(row.get(key) for row in figures.values())]
    return [*table.columns, *([f"mean of {len(table.mean)}"] if table.mean else []), *behind]


def _label(name: str, row: LineFigures) -> str:
    """Return the name of a line, with its seeds where there are several."""
    return name if len(row["here"]) < 2 else f"{name}, seeds {', '.join(row['here'])}"


def _describe_kept(row: LineFigures) -> str:
    """Return what follows the name of a line whose training changed nothing, with its seeds where there are several."""
    kept = [seed for seed, stays in row.get("start_kept", {}).items() if stays and seed in row["here"]]
    seeds = f" in seed{'s' * (len(kept) > 1)} {', '.join(kept)}" if len(row["here"]) > 1 else ""
    return f", dev kept the start{seeds}" if kept else ""


def _reason(row: LineFigures) -> str:
    """Return the cell of a line that has no figures: that it did not run, and why."""
    return f"{NOT_RUN}: {row['why']}" if row.get("why") else NOT_RUN


def _missing(figures: TableFigures) -> Iterator[str]:
    """Yield the lines below a table: what has not run, by the reason why."""
    names: dict[str, list[str]] = {}
    for name, row in figures.items():
        if not row["here"]:
            names.setdefault(row.get("why", ""), []).append(name)
    for why, missing in names.items():
        head = f"Not run, {why}" if why else "Not run yet"
        yield wrap(f"{head}: {'; '.join(_shorten(missing))}.")


def _shorten(names):
    """Return the names; if there are many, the first ones and the number of the others."""
    few = names[: MOST_NAMES - 1]
    return names if len(names) <= MOST_NAMES else [*few, f"{len(names) - len(few)} others"]


def wrap(text: str, indent: str = "") -> str:
    """Return a paragraph in lines of at most 120 characters, all but the first of them behind `indent`."""
    wrapped = textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrapped)


def _paper_cells(table: Table, row: LineFigures, number: int) -> list[str]:
    """Return the cells of the paper's figures, `number` of them."""
    cells = _cells(table, [row["paper"]])
    return [*cells, *[""] * (number - len(cells))]


def _our_cells(table: Table, row: LineFigures, heads: Sequence[str]) -> list[str]:
    """Return the cells of our figures, marked where they differ from the base in every seed."""
    by_seed = row.get("against_base", {})
    values = _cells(table, list(row["here"].values()))
    marks = [_mark([by_seed.get(seed, {}).get(column) for seed in row["here"]]) for column in table.columns]
    marked = [value + mark for value, mark in zip(values, [*marks, ""][: len(values)], strict=True)]
    parts = {LAST: _at_the_end(table, row), BEST_OF: _evaluations(row), DEV: _on_dev(row), COUNT: _count(row)}
    return [*marked, *(parts[head] for head in heads if head in parts)]


def _join(parts):
    return f"|{'|'.join(parts)}|"


def _escape(text):
    """Return the text as LaTeX prints it."""
    text = text.translate(SPECIAL)
    for sign, command in SIGNS.items():
        text = text.replace(sign, command)
    return text


def _cells(table, several):
    """Return each column's mean over seeds; the mean over columns has its standard deviation over seeds too."""
    values = [_format_values([one[column] for one in several if column in one]) for column in table.columns]
    if not table.mean:
        return values
    means = [float(np.mean([one[column] for column in table.mean])) for one in several if {*table.mean} <= {*one}]
    return [*values, _format_values(means, spread=True)]


def _mark(tests):
    """Return the mark behind a figure, given its tests by seed; None for a seed without one."""
    for sign, better in ((BETTER, True), (WORSE, False)):
        if all(one and one["p"] < LEVEL and one["better"] == better for one in tests):
            return sign
    return ""


def _at_the_end(table, row):
    """Return the mean of the last evaluation, where that has its languages."""
    last = row.get("last", {})
    text = _cells(table, list(last.values()))[-1] if table.mean else ""
    return text and f"{text}{_of_seeds(row, last)}"


def _evaluations(row):
    """Return the number of evaluations among which dev chose, the fewest and the most of the seeds."""
    by_seed = row.get("best_of", {})
    counts = sorted({*by_seed.values()})
    text = " to ".join(str(count) for count in dict.fromkeys([*counts[:1], *counts[-1:]]))
    return text and f"{text}{_of_seeds(row, by_seed)}"


def _on_dev(row):
    """Return P@1 on dev of what was chosen and of the last evaluation, means of the seeds."""
    pairs = list(row.get("dev", {}).values())
    return " / ".join(_format_values(values) for values in zip(*pairs, strict=True))


def _count(row):
    """Return the number of questions of a column, the fewest and the most."""
    counts = sorted({count for of in row.get("questions", {}).values() for count in of.values()})
    return " to ".join(map(str, dict.fromkeys([*counts[:1], *counts[-1:]])))


def _of_seeds(row, by_seed):
    """Return the seeds in parentheses if they are fewer than those of the line's figures."""
    return "" if {*row["here"]} <= {*by_seed} else f" (seed{'s' * (len(by_seed) > 1)} {', '.join(sorted(by_seed))})"


def _format_values(values, spread=False):
    if not values:
        return ""
    deviation = f" ± {np.std(values, ddof=1):.1f}" if spread and len(values) > 1 else ""
    return f"{np.mean(values):.1f}{deviation}"
