"""Tables that commands print of runs, of searches and of changed vocabularies, on standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from .answers import judge_against_base, judge_best_peer, label_rows
from .layout import _short, format_percents, new_console, new_table
from .verdicts import choose_split, choose_unit, describe_gain, judge_bundle, make_headline

if TYPE_CHECKING:
    from ..system.types import File, Json


def print_run(metrics: Mapping[str, Json], folder: Path) -> None:
    """Print a run's verdict, the P@1 by language that it is about, and where its bundle and all other figures are."""
    console, languages, split, unit = new_console(), metrics["languages"], choose_split(metrics), choose_unit(metrics)
    verdict = make_headline(judge_against_base(metrics), judge_bundle(metrics), judge_best_peer(metrics))
    for line in filter(None, (f"{verdict.mark} {verdict.word}", describe_gain(metrics))):
        console.print(line, soft_wrap=True, markup=False)
    part = metrics["splits"][split]
    counts = {part["encoders"]["base"][unit][language]["questions"] for language in languages}
    questions = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
    title = f"P@1, %, unit {unit}, {split} ({questions} questions per language)"
    table = new_table(title, "encoder", *languages, f"mean of {len(metrics['mean_over'])}")
    for name, label in label_rows(metrics).items():
        shares = [part["encoders"][name][unit][language]["p@1"] for language in languages]
        table.add_row(Text(label), *format_percents([*shares, part["mean_p@1"][name][unit]]))
    console.print(table)
    query = metrics["timings"]["query"]
    size, milliseconds = f"{metrics['bundle_bytes'] / 1e6:.1f} MB", f"{query['median_ms']:.2f} ms"
    times = f"{milliseconds} per query (median, {query['threads']} thread)"
    places = f"{folder / 'report.html'}, and as JSON {folder / 'metrics.json'}"
    for line in (f"bundle: {folder / 'bundle'}: {size}, {times}", f"all figures: {places}"):
        console.print(line, soft_wrap=True, markup=False)


def print_tuning(search: Mapping[str, Json], output: File, trials: File) -> None:
    """Print the trials of a search for settings and where the best settings are."""
    console, names = new_console(), list(search["space"])
    columns = names if search["stage"] == "both" else [name.partition(".")[2] for name in names]
    table = new_table(describe_objective(search), "trial", *columns, "P@1", "state")
    for row in search["trials"]:
        values = [format_value(row["values"][name]) if name in row["values"] else "" for name in names]
        p = "" if row["p@1"] is None else f"{100 * row['p@1']:.1f}"
        state = "best" if row["number"] == search["best"] else row["state"]
        table.add_row(str(row["number"]), *map(Text, values), p, Text(state))
    console.print(table)
    console.print(f"best: {output}, {NOTE}; all trials: {trials}", soft_wrap=True, markup=False)


def print_search(search: Mapping[str, Json], page: File, bundle: File) -> None:
    """Print the bundles of a search; those that no other beats are marked. `search` is the content of `search.json`."""
    console = new_console()
    table = new_table(
        "compressed bundles, dev, unit maxp", "bundle", "tokens", "MB", "ms", "times\nfaster", "P@1, %", "points\nlost",
        "worse in\n(McNemar, Holm)", "front",
    )  # fmt: skip
    for row in sorted(search["bundles"], key=lambda row: -row["bytes"]):
        worse = [name for name, test in row["mcnemar"].items() if test["significant"] and test["b"] < test["a"]]
        figures = (f"{row['bytes'] / 1e6:.1f}", _short(row["ms"]), _short(search["whole"]["ms"] / row["ms"]))
        scores = (f"{100 * row['p@1']:.1f}", f"{row['drop']:.1f}", ", ".join(worse))
        mark = "chosen" if row["name"] == search["chosen"] else "*" if row["name"] in search["front"] else ""
        table.add_row(Text(row["name"]), str(row["pieces"]), *figures, *scores, mark)
    whole = search["whole"]
    table.add_row("the student's own", "", f"{whole['bytes'] / 1e6:.1f}", _short(whole["ms"]), "1.00")
    console.print(table)
    console.print(describe_search(search), soft_wrap=True, markup=False)
    console.print(f"report: {page}", soft_wrap=True, markup=False)
    if search["chosen"]:
        console.print(f"bundle: {bundle}", soft_wrap=True, markup=False)


def describe_search(search: Mapping[str, Json]) -> str:
    """Return a sentence on whether a bundle keeps the budget."""
    if not search["chosen"]:
        return "no bundle: nothing keeps the size, not even without training"
    row = next(row for row in search["bundles"] if row["name"] == search["chosen"])
    figures = f"{row['bytes'] / 1e6:.1f} MB, {row['ms']:.3f} ms, {row['drop']:.1f} points lost"
    if not search["excess"]:
        return f"{row['name']} keeps the budget: {figures}"
    near = ", ".join(f"{name} {value:g} instead of {limit:g}" for name, (value, limit) in search["excess"].items())
    return f"no bundle keeps the budget; the nearest is {row['name']} ({figures}): {near}"


NOTE = "chosen on dev, so expect less on unseen questions"


def describe_objective(search: Mapping[str, Json]) -> str:
    """Return words on what a search for settings maximised."""
    return f"dev P@1, %, unit {search['unit']}, mean over {', '.join(search['languages'])}"


def format_value(value: Json) -> str:
    """Return a setting's value as the text of a cell."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_pruning(report: Mapping[str, Json]) -> None:
    """Print the sizes before and after pruning, and how seen and unseen texts are split into tokens."""
    console = new_console()
    _print_vocabulary(console, report)
    _print_segmentation(console, "the texts that were kept", report["kept"])
    cosines = new_table(
        "cosine to the encoder before, the least of some of these texts", "language", "question", "document"
    )
    for language, least in report["cosine"].items():
        cosines.add_row(Text(language), *(f"{least[role]:.4f}" for role in ("question", "document")))
    console.print(cosines)
    title = f"unseen text: a tenth of it (seed {report['seed']}), under a vocabulary made of the other nine tenths"
    if report["left"]:
        title += f"; all train and dev questions of what was not kept ({', '.join(report['left'])})"
    _print_segmentation(console, title, report["unseen"])


def print_language(report: Mapping[str, Json]) -> None:
    """Print what held-out lines of a new language find, and what other languages lose on the sample's questions."""
    console, scores = new_console(), report["p@1"]
    title = f"{report['language']}: {report['dev_lines']} held-out lines whose translation is the nearest, in per cent"
    table = new_table(title, report["model"], "new rows untrained", "trained", "as written")
    table.add_row(*format_percents([scores[name] for name in ("before", "untrained", "student", "written")]))
    console.print(table)
    _print_sample(console, report["others"])


def print_words(report: Mapping[str, Json]) -> None:
    """Print what the sample's questions find before and after words are added, in this language and the others."""
    _print_sample(new_console(), report["sample"])


def print_spellings(report: Mapping[str, Json]) -> None:
    """Print by language how near noisy lines are to the written ones, before and after, if any were held out."""
    if not report["cosine"]["written"]:
        return
    console, languages = new_console(), list(report["cosine"]["written"])
    table = new_table("cosine to the text as written, before and after, x 100", "typed", *languages, "spellings")
    for kind, row in report["cosine"].items():
        cells = ("\n".join(format_percents(row[name])) if name in row else "" for name in languages)
        count = sum(report["spellings"].get(kind, {}).values())
        table.add_row(Text("as they are" if kind == "written" else kind), *cells, str(count or ""))
    console.print(table)


def _print_sample(console, rows):
    if not rows:
        return
    table = new_table("the sample's questions: P@1, %", "language", "before", "after", "cut otherwise\n% of questions")
    for language, row in rows.items():
        table.add_row(Text(language), *format_percents([*row["p@1"], row["cut_otherwise"]]))
    console.print(table)


def _print_vocabulary(console, report):
    table = new_table("vocabulary", "", "before", "after")
    table.add_row("tokens", *map(str, report["rows"]))
    table.add_row("MB (float32)", *(f"{count / 1e6:.1f}" for count in report["bytes"]))
    console.print(table)


def _print_segmentation(console, title, rows):
    heads = ("texts", "tokens", "before", "after", "<unk> %\nbefore", "<unk> %\nafter", "cut otherwise\n% of texts")
    table = new_table(title, "language", *heads)
    for language, row in rows.items():
        fertility = (f"{value:.3f}" for value in row["fertility"])
        shares = (f"{100 * value:.2f}" for value in (*row["unk"], row["changed"]))
        table.add_row(Text(language), str(row["texts"]), f"per {row['unit']}", *fertility, *shares)
    console.print(table)
