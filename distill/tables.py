"""What the commands print: tables on standard output."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

LATENCY = ("median", "interval\n(95 %)", "p90", "p95", "p99")


def new_console():
    console = Console(highlight=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, emoji=False, width=160)


def new_table(title, *columns):
    table = Table(title=Text(title), title_justify="left")
    table.add_column(columns[0], overflow="fold")  # names may be long paths; figures are never cut
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def print_run(metrics, folder):
    """P@1 by language of every encoder, the bundle's size and speed, and where things lie."""
    console, languages = new_console(), metrics["languages"]
    for split, part in metrics["splits"].items():
        questions = part["encoders"]["base"]["document"][languages[0]]["questions"]
        for unit in ("document", "maxp"):
            title = f"P@1, %, unit {unit}, {split} ({questions} questions a language)"
            table = new_table(title, "encoder", *languages, f"mean of {len(metrics['mean_over'])}")
            for name, figures in part["encoders"].items():
                cells = [f"{100 * figures[unit][language]['p@1']:.1f}" for language in languages]
                table.add_row(Text(name), *cells, f"{100 * part['mean_p@1'][name][unit]:.1f}")
            console.print(table)
    query = metrics["timings"]["query"]
    console.print(
        f"bundle: {metrics['bundle_bytes'] / 1e6:.1f} MB, {query['median_ms']:.2f} ms a query "
        f"(median, {query['threads']} thread)"
    )
    console.print(f"report: {folder / 'report.html'}", soft_wrap=True, markup=False)
    console.print(f"bundle: {folder / 'bundle'}", soft_wrap=True, markup=False)


def print_tuning(found, output):
    """Every trial of `tune.tune`: its values, dev P@1 and what became of it; and where the best one lies."""
    from .tune import NOTE, measure, trials_path
    from .tune_search import shown_value

    console, names = new_console(), list(found["space"])
    columns = names if found["stage"] == "both" else [name.partition(".")[2] for name in names]
    table = new_table(measure(found), "trial", *columns, "P@1", "state")
    for row in found["trials"]:
        values = [shown_value(row["values"][name]) if name in row["values"] else "" for name in names]
        p = "" if row["p@1"] is None else f"{100 * row['p@1']:.1f}"
        state = "best" if row["number"] == found["best"] else row["state"]
        table.add_row(str(row["number"]), *map(Text, values), p, Text(state))
    console.print(table)
    console.print(f"best: {output}, {NOTE}; all trials: {trials_path(output)}", soft_wrap=True, markup=False)


def print_evaluations(found):
    """What `measures.measure_all` found of the task retrieval: a table a unit, then one of recall by tokens."""
    console, encoders = new_console(), found["encoders"]
    first = next(iter(encoders.values()))
    for unit, by_language in first["units"].items():
        metrics = [metric for metric in next(iter(by_language.values())) if metric != "questions"]
        table = new_table(f"unit {unit}, {found['split']}, %", "encoder", "metric", *by_language, "mean")
        for model, figures in encoders.items():
            rows = {metric: [row[metric] for row in figures["units"][unit].values()] for metric in metrics}
            _add_metrics(table, model, rows, [row["questions"] for row in by_language.values()])
        if metrics:
            console.print(table)
    if first["recall"]:
        console.print(_recall_table(found))


def _recall_table(found):
    encoders = found["encoders"]
    counted = {
        name: row["questions"] for name, row in next(iter(next(iter(encoders.values()))["recall"].values())).items()
    }
    title = f"an answer within the first words of the passages, {found['split']}, %"
    table = new_table(title, "encoder", "metric", *counted, "mean")
    for model, figures in encoders.items():
        rows = {metric: [row["recall"] for row in of.values()] for metric, of in figures["recall"].items()}
        _add_metrics(table, model, rows, counted.values())
    return table


def _add_metrics(table, model, rows, questions):
    for metric, values in rows.items():
        table.add_row(Text(model), metric, *percents(values), f"{100 * np.mean(values):.1f}")
    table.add_row("", "questions", *map(str, questions), "", end_section=True)


def percents(values):
    """Cells in per cent; None is left empty."""
    return ["" if value is None else f"{100 * value:.1f}" for value in values]


SCORE_HEADS = (
    "A, %", "B, %", "A - B, points\n(95 % interval)", "only A", "only B", "questions", "p", "p (Holm)",
    "effect d_z\n(95 % interval)", "detect-\nable", "verdict",
)  # fmt: skip

TESTS = {"mcnemar": "McNemar's test within a language", "sign-flip": "sign flips by question"}


def print_scores(a, b, split, metric, found):
    """A table a task of what `paired.compare_scores` found; scores and differences in per cent."""
    console = new_console()
    for task, rows in found.items():
        of = task if task.startswith("bitext") else f"{task}, {split}"
        table = new_table(f"{a} (A) against {b} (B), {metric}, {of}", "language", *SCORE_HEADS)
        for language, row in rows.items():
            if language == "all":
                table.add_section()
            table.add_row(Text(language), *_score_cells(row))
        console.print(table)
    console.print(_families(found), soft_wrap=True, markup=False)


def _score_cells(row):
    difference = _interval(*(_signed(100 * row[key], 1) for key in ("difference", "low", "high")))
    effect = _interval(*(_signed(row[key], 2) for key in ("effect", "effect_low", "effect_high")))
    shares = (f"{100 * row['a']:.1f}", f"{100 * row['b']:.1f}", difference)
    counts = (str(row[key]) for key in ("only_a", "only_b", "questions"))
    least = "" if row["detectable"] is None else f"{100 * row['detectable']:.1f}"
    return *shares, *counts, _p(row["p"]), _p(row["p_holm"]), effect, least, _verdict(row)


def _verdict(row):
    return "" if not row["significant"] else "A better" if row["difference"] > 0 else "B better"


def _signed(value, decimals):
    """A difference with its sign; None is one without bound."""
    return "inf" if value is None else f"{value:+.{decimals}f}"


def _interval(value, low, high):
    return f"{value} ({low} to {high})"


def _p(value):
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def _families(found):
    """What the columns p and p (Holm) are."""
    pooled = sum("all" in rows for rows in found.values())
    families = f"Holm over {sum(map(len, found.values())) - pooled} tests" + f", over {pooled} of all" * bool(pooled)
    tests = dict.fromkeys(row["test"] for rows in found.values() for row in rows.values())
    return f"p by {' and '.join(TESTS[test] for test in tests)}; {families}"


def print_bench(found, note):
    """All figures in one table, medians by language in a second, with search in a third where it was timed."""
    console, first = new_console(), next(iter(found.values()))["median_ms"]
    title = (
        f"ms a query (tokenize + encode, batch 1), {note['queries']} questions x {note['rounds']}, "
        f"{note['threads']} thread(s), {note['machine']}"
    )
    heads = ("times\nfirst", f"texts/s,\nbatch {note['batch']}", "cold\nstart s", "memory\nMB", "disk\nMB")
    table = new_table(title, "encoder", *LATENCY, *heads)
    for name, row in found.items():
        rest = (_short(row["median_ms"] / first), f"{row['texts_per_s']:.0f}", f"{row['cold_start_s']:.2f}")
        table.add_row(Text(name), *_latency(row), *rest, _megabytes(row["memory_bytes"]), _megabytes(row["bytes"]))
    console.print(table)
    _print_bench_languages(console, found)
    if note["documents"]:
        table = new_table(f"ms a query with the search of {note['documents']} documents", "encoder", *LATENCY)
        for name, row in found.items():
            table.add_row(Text(name), *_latency(row["search"]))
        console.print(table)
    for name, why in [*((name, row["note"]) for name, row in found.items() if row["note"]), *_skipped(note)]:
        console.print(f"{name}: {why}", markup=False, soft_wrap=True)


def _print_bench_languages(console, found):
    languages = next(iter(found.values()))["languages"]
    table = new_table("median ms by language of the question", "encoder", *languages)
    for name, row in found.items():
        table.add_row(Text(name), *(_short(figures["median_ms"]) for figures in row["languages"].values()))
    console.print(table)


def _skipped(note):
    return [(name, f"skipped: {reason}") for name, reason in note["skipped"].items()]


def _latency(row):
    low, high = row["intervals"]["median_ms"]
    tail = (_short(row[key]) for key in ("p90_ms", "p95_ms", "p99_ms"))
    return _short(row["median_ms"]), f"{_short(low)}–{_short(high)}", *tail


def _short(value):
    """Three digits, never an exponent."""
    decimals = next((number for number, end in ((3, 0.9995), (2, 9.995), (1, 99.95)) if value < end), 0)
    return f"{value:.{decimals}f}"


def _megabytes(count):
    return "" if count is None else f"{count / 1e6:.0f}" if count >= 1e8 else f"{count / 1e6:.1f}"


def print_search(found, folder, output=None):
    """The bundles of a search, those that no other beats marked, and which one was chosen."""
    from .compress import CHOSEN, FOLDER, summary

    console = new_console()
    table = new_table(
        "compressed bundles, dev, unit maxp", "bundle", "pieces", "MB", "ms", "times\nfaster", "P@1, %", "points\nlost",
        "worse in\n(McNemar, Holm)", "front",
    )  # fmt: skip
    for row in sorted(found["bundles"], key=lambda row: -row["bytes"]):
        worse = [name for name, test in row["mcnemar"].items() if test["significant"] and test["b"] < test["a"]]
        figures = (f"{row['bytes'] / 1e6:.1f}", _short(row["ms"]), _short(found["whole"]["ms"] / row["ms"]))
        scores = (f"{100 * row['p@1']:.1f}", f"{row['drop']:.1f}", ", ".join(worse))
        mark = "chosen" if row["name"] == found["chosen"] else "*" if row["name"] in found["front"] else ""
        table.add_row(Text(row["name"]), str(row["pieces"]), *figures, *scores, mark)
    whole = found["whole"]
    table.add_row("the student's own", "", f"{whole['bytes'] / 1e6:.1f}", _short(whole["ms"]), "1.00")
    console.print(table)
    console.print(summary(found), soft_wrap=True, markup=False)
    console.print(f"report: {Path(output or folder) / 'report.html'}", soft_wrap=True, markup=False)
    if found["chosen"]:
        console.print(f"bundle: {Path(output or folder / FOLDER) / CHOSEN}", soft_wrap=True, markup=False)


def print_pruning(report):
    """Size, then how texts are cut before and after, on what was kept and on what was not seen."""
    console = new_console()
    _print_vocabulary(console, report)
    _print_segmentation(console, "the texts that were kept", report["kept"])
    title = f"unseen text: a tenth of it (seed {report['seed']}), under a vocabulary made of the other nine tenths"
    if report["left"]:
        title += f"; all train and dev questions of what was not kept ({', '.join(report['left'])})"
    _print_segmentation(console, title, report["unseen"])


def print_extension(report):
    """Size, the anchors of some new pieces, then how texts are cut before and after: new, kept and unseen ones."""
    console = new_console()
    _print_vocabulary(console, report)
    if report["nearest"]:
        table = new_table(f"some new pieces and what {report['aligner']} finds near them", "piece", "weight: old piece")
        for piece, anchors in report["nearest"].items():
            table.add_row(Text(piece), Text(", ".join(f"{weight:.2f}: {anchor}" for anchor, weight in anchors)))
        console.print(table)
    _print_segmentation(console, "the texts of the new languages", report["new"])
    if report["kept"]:
        _print_segmentation(console, "the texts that were kept", report["kept"])
    title = f"unseen text: a tenth of all (seed {report['seed']}), under a vocabulary made of the other nine tenths"
    _print_segmentation(console, title, report["unseen"])


def _print_vocabulary(console, report):
    table = new_table("vocabulary", "", "before", "after")
    table.add_row("pieces", *map(str, report["rows"]))
    table.add_row("MB (float32)", *(f"{count / 1e6:.1f}" for count in report["bytes"]))
    console.print(table)


def _print_segmentation(console, title, found):
    heads = ("texts", "pieces", "before", "after", "<unk> %\nbefore", "<unk> %\nafter", "cut otherwise\n% of texts")
    table = new_table(title, "language", *heads)
    for language, row in found.items():
        fertility = (f"{value:.3f}" for value in row["fertility"])
        shares = (f"{100 * value:.2f}" for value in (*row["unk"], row["changed"]))
        table.add_row(Text(language), str(row["texts"]), f"a {row['unit']}", *fertility, *shares)
    console.print(table)


def print_hits(dataset, rows, scores):
    console = new_console()
    for place, (row, score) in enumerate(zip(rows, scores, strict=True), start=1):
        passage = dataset.passages[row]
        console.print(f"{place}. {score:.3f}  {dataset.titles[passage.document]}", markup=False)
        console.print(f"   {passage.text}", markup=False, soft_wrap=True)


def print_answers(found):
    """Exact match and F1 by language of `answers.measure`'s figures, plain and without inflection."""
    table = new_table("answers, %", "language", "questions", "missing", "EM", "F1", "EM, stemmed", "F1, stemmed")
    for language, row in found.items():
        figures = [row[name][key] for name in ("plain", "morphology") for key in ("em", "f1")]
        table.add_row(Text(language), str(row["questions"]), str(row["missing"]), *percents(figures))
    new_console().print(table)
