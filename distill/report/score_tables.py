"""Tables of encoders on tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from ..evaluation.evaluate import HEAD, Evaluation
from ..evaluation.paired_comparison import ALL, Comparisons
from ..retrieval.metrics import summarise_ranks
from .layout import _megabytes, _short, format_p_value, format_percents, new_console, new_table

if TYPE_CHECKING:
    from ..evaluation.answers import AnswerFigures
    from ..system.types import Json


# By encoder, then part, then language: "f1" and "em", in [0, 1].
ReadingFigures = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
ANSWER_METRICS = {"F1": "f1", "EM": "em"}


def print_evaluations(evaluations: Mapping[str, Evaluation], split: str, metrics: Sequence[str]) -> None:
    """Print the metrics of encoders: a table per unit, then recall by tokens, spoken languages and noisy questions."""
    console, first = new_console(), next(iter(evaluations.values()))
    for unit, by_language in first.ranks.items() if metrics else ():
        table = new_table(f"unit {unit}, {split}, %", "encoder", "metric", *by_language, "mean", names=2)
        for name, evaluation in evaluations.items():
            figures = [summarise_ranks(ranks, metrics) for ranks in evaluation.ranks[unit].values()]
            rows = {metric: [row[metric] for row in figures] for metric in metrics}
            _add_metrics(table, name, rows, map(len, by_language.values()))
        console.print(table)
    if first.recall:
        console.print(_recall_table(evaluations, split))
    if first.spoken:
        console.print(_spoken_table(evaluations, split))
    for unit, by_language in first.ranks.items() if metrics and first.typed else ():
        console.print(_typed_table(evaluations, split, unit, metrics[0], list(by_language)))


def _typed_table(evaluations, split, unit, metric, languages):
    """Return a table with a row per kind of `choices.TYPED`, and the points that each loses."""
    title = f"unit {unit}, {split}, {metric} in % of questions as people type them"
    table = new_table(title, "encoder", "typed", *languages, "mean", "points lost", names=2)
    for name, evaluation in evaluations.items():
        clean = _scores(evaluation.ranks[unit], metric)
        cells = format_percents([*clean.values(), np.mean([*clean.values()])])
        table.add_row(Text(name), "as they are", *cells, "")
        lost = []
        for kind, ranks in evaluation.typed.items():
            scores = _scores(ranks[unit], metric)
            losses = [clean[language] - score for language, score in scores.items()]
            cells = format_percents([scores.get(language) for language in languages])
            means = [f"{100 * np.mean(values):.1f}" if values else "" for values in ([*scores.values()], losses)]
            table.add_row("", kind, *cells, *means)
            lost += losses
        whole = f"{100 * np.mean(lost):.1f}" if lost else ""
        table.add_row("", "points lost", *[""] * (len(languages) + 1), whole, end_section=True)
    return table


def _scores(ranks, metric):
    return {language: summarise_ranks(each, [metric])[metric] for language, each in ranks.items()}


def _spoken_table(evaluations, split):
    """Return a table with a row per language of passages and a column per language of questions."""
    columns = next(iter(evaluations.values())).spoken
    table = new_table(
        f"languages of the first {HEAD} passages, {split}, %", "encoder", "passages in", *columns, "mean", names=2
    )
    for name, evaluation in evaluations.items():
        for language in next(iter(evaluation.spoken.values())):
            shares = [of[language] for of in evaluation.spoken.values()]
            table.add_row(Text(name), language, *format_percents(shares), f"{100 * np.mean(shares):.1f}")
    return table


def _recall_table(evaluations, split):
    first = next(iter(evaluations.values()))
    counts = {language: len(hits) for language, (_, hits) in next(iter(first.recall.values())).items()}
    title = f"an answer within the first words of the passages, {split}, %"
    table = new_table(title, "encoder", "metric", *counts, "mean", names=2)
    for name, evaluation in evaluations.items():
        rows = {metric: [np.mean(hits) for _, hits in of.values()] for metric, of in evaluation.recall.items()}
        _add_metrics(table, name, rows, counts.values())
    return table


def _add_metrics(table, model, rows, questions):
    for metric, values in rows.items():
        table.add_row(Text(model), metric, *format_percents(values), f"{100 * np.mean(values):.1f}")
    table.add_row("", "questions", *map(str, questions), "", end_section=True)


# What the verdict rests on comes first: it fills a line of 80 columns, and the others go below it there.
SCORE_HEADS = (
    "A, %", "B, %", "A - B, points\n(95 % interval)", "p", "p\n(Holm)", "verdict",
    "only A", "only B", "questions", "effect d_z\n(95 % interval)", "detect-\nable",
)  # fmt: skip
TESTS = {"mcnemar": "McNemar's test within a language", "sign-flip": "sign flips by question"}


def print_scores(a: str, b: str, split: str, metric: str, comparisons: Comparisons) -> None:
    """Print a comparison of two encoders, one table per task, with scores and differences in per cent."""
    console = new_console()
    for task, rows in comparisons.items():
        of = task if task.startswith("bitext") else f"{task}, {split}"
        table = new_table(f"{a} (A) against {b} (B), {metric}, {of}", "language", *SCORE_HEADS)
        for language, row in rows.items():
            if language == ALL:
                table.add_section()
            table.add_row(Text(language), *_score_cells(row))
        console.print(table)
    console.print(_families(comparisons), soft_wrap=True, markup=False)


def _score_cells(row):
    ends = row.difference, row.low, row.high
    difference = _interval(*(f"{100 * value:+.1f}" for value in ends))
    effect = _interval(*map(_format_effect, (row.effect, row.effect_low, row.effect_high), ends))
    shares = (f"{100 * row.a:.1f}", f"{100 * row.b:.1f}", difference)
    counts = map(str, (row.only_a, row.only_b, row.questions))
    # Scores are at most 1, so a normal approximation beyond that says that no difference would show.
    least = "" if row.detectable is None else f"{100 * row.detectable:.1f}" if row.detectable <= 1 else "> 100"
    return *shares, *map(format_p_value, (row.p, row.p_holm)), _verdict(row), *counts, effect, least


def _verdict(row):
    return "" if not row.significant else "A better" if row.difference > 0 else "B better"


def _format_effect(value, difference):
    """Return an effect size with its sign; None is one without bound, with the sign of the difference."""
    return f"{math.copysign(math.inf, difference) if value is None else value:+.2f}"


def _interval(value, low, high):
    return f"{value} ({low} to {high})"


def _families(comparisons):
    """Return words on the tests behind the columns p and p (Holm)."""
    pooled = sum(ALL in rows for rows in comparisons.values())
    single = sum(map(len, comparisons.values())) - pooled
    families = f"Holm over {single} tests" + f", over {pooled} of all" * bool(pooled)
    tests = dict.fromkeys(row.test for rows in comparisons.values() for row in rows.values())
    return f"p by {' and '.join(TESTS[test] for test in tests)}; {families}"


def print_answers(languages: Mapping[str, AnswerFigures]) -> None:
    """Print exact match and F1 by language for each normalisation, and BLEU if it was computed."""
    first = next(iter(languages.values()))
    titles = [
        f"{title}{MARKS.get(name, f', {name}')}" for name, match in first.matches.items() for title in _columns(match)
    ]
    table = new_table("answers, %", "language", "questions", "missing", *titles)
    for language, figures in languages.items():
        values = [value for match in figures.matches.values() for value in _columns(match).values()]
        table.add_row(Text(language), str(figures.questions), str(figures.missing), *format_percents(values))
    new_console().print(table)


# Behind the name of a figure; of another normalisation its own name.
MARKS = {"plain": "", "morphology": ", stemmed"}


def _columns(match):
    return {"EM": match.em, "F1": match.f1, **({} if match.bleu is None else {"BLEU": match.bleu})}


def print_reading(figures: ReadingFigures, milliseconds: Mapping[str, float], split: str, reader: str) -> None:
    """Print F1 and exact match by language, one table per part, and the reader's milliseconds per question."""
    first = next(iter(figures.values()))
    for part, by_language in first.items():
        table = new_table(f"{part}, {split}, read by {reader}, %", "encoder", "", *by_language, "mean", names=2)
        for name, parts in figures.items():
            for place, (label, key) in enumerate(ANSWER_METRICS.items()):
                values = [means[key] for means in parts[part].values()]
                table.add_row(Text("" if place else name), label, *format_percents([*values, float(np.mean(values))]))
            table.add_section()
        new_console().print(table)
    for name, value in milliseconds.items():
        new_console().print(f"{name}: {value:.1f} ms per question for the reader", markup=False, style="dim")


LATENCY = ("median", "interval\n(95 %)", "p90", "p95", "p99")


def print_bench(rows: Mapping[str, Mapping[str, Json]], note: Mapping[str, Json]) -> None:
    """Print the figures of a benchmark: a table of all, one by language and one with search if it was timed."""
    console, first = new_console(), next(iter(rows.values()))["median_ms"]
    title = (
        f"ms per query (tokenize + encode, batch 1), {note['queries']} questions x {note['rounds']}, "
        f"{note['threads']} thread(s), {note['machine']}"
    )
    heads = ("times\nfirst", f"texts/s,\nbatch {note['batch']}", "cold\nstart s", "memory\nMB", "disk\nMB")
    table = new_table(title, "encoder", *LATENCY, *heads)
    for name, row in rows.items():
        rest = (_short(row["median_ms"] / first), f"{row['texts_per_s']:.0f}", f"{row['cold_start_s']:.2f}")
        table.add_row(Text(name), *_latency(row), *rest, _megabytes(row["memory_bytes"]), _megabytes(row["bytes"]))
    console.print(table)
    _print_bench_languages(console, rows)
    if note["documents"]:
        table = new_table(f"ms per query with the search of {note['documents']} documents", "encoder", *LATENCY)
        for name, row in rows.items():
            table.add_row(Text(name), *_latency(row["search"]))
        console.print(table)
    for name, row in rows.items():
        if (device := row.get("device", "cpu")) != "cpu":
            console.print(f"{name}: on {device}", markup=False, soft_wrap=True)
    for name, why in [*((name, row["note"]) for name, row in rows.items() if row["note"]), *_format_skipped(note)]:
        console.print(f"{name}: {why}", markup=False, soft_wrap=True)


def _print_bench_languages(console, rows):
    languages = next(iter(rows.values()))["languages"]
    table = new_table("median ms by language of the question", "encoder", *languages)
    for name, row in rows.items():
        table.add_row(Text(name), *(_short(figures["median_ms"]) for figures in row["languages"].values()))
    console.print(table)


def _format_skipped(note):
    return [(name, f"skipped: {reason}") for name, reason in note["skipped"].items()]


def _latency(row):
    low, high = row["intervals"]["median_ms"]
    tail = (_short(row[key]) for key in ("p90_ms", "p95_ms", "p99_ms"))
    return _short(row["median_ms"]), f"{_short(low)}–{_short(high)}", *tail
