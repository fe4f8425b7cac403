"""Tables of encoders on tasks."""

import numpy as np
from rich.text import Text

from .layout import new_console, new_table, percents


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
