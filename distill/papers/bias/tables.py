"""Tables of the tasks lareqa and classification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich.text import Text

from ...data.pool import Pool
from ...report.layout import format_percents, new_console, new_table
from ...retrieval.metrics import mean_of
from .analyses import BiasFigures, count_top
from .classification import ClassificationFigures


def print_lareqa(pool: Pool, split: str, encoders: Mapping[str, BiasFigures]) -> None:
    """Print mAP by language, language bias, and the effect of its removal, from `{encoder: figures}`."""
    console, top = new_console(), count_top(pool)
    console.print(_map_table(pool, split, encoders))
    console.print(_bias_table(pool, encoders))
    console.print(_removal_table(pool, encoders))
    for key, places in (("share", f"the first {top}"), ("first_share", "the first place")):
        console.print(_usage_table(pool, encoders, key, places))
    for name, figures in encoders.items():
        console.print(Text(f"{name}: {_usage_line(figures.lareqa.usage['share'], top)}"), soft_wrap=True)
    console.print("mAP by question and answer language, principal components: --json, or --report for figures")


def _map_table(pool, split, encoders):
    place = f"{pool.name}, {split}, {len(pool.questions)} questions, {len(pool.sentences)} sentences"
    table = new_table(f"LAReQA, mAP, %: {place}", "encoder", "pool", *pool.languages, "all", names=2)
    for name, figures in encoders.items():
        every, alone = figures.lareqa.precision, figures.lareqa.monolingual.values()
        table.add_row(Text(name), "multilingual", *format_percents([*every.languages.values(), every.map]))
        table.add_row("", "monolingual", *format_percents([*alone, mean_of(alone)]), end_section=True)
    return table


def _bias_table(pool, encoders):
    heads = (
        "mAP",
        "-rand",
        "-same",
        "Δ, %",
        f"own language\nin first {count_top(pool)}",
        "even\nshare",
        "language\nidentified",
        "chance",
    )
    table = new_table("language bias, %", "encoder", *heads)
    candidates = pool.count(pool.language_of).values()
    even = mean_of(count / sum(candidates) for count in candidates)
    for name, figures in encoders.items():
        removed, identification = figures.lareqa.removed, figures.language_id
        values = (figures.lareqa.precision.map, removed.rand, removed.same, removed.delta)
        self_share = mean_of(of[language] for language, of in figures.lareqa.share.items())
        identified = (identification.accuracy, identification.chance) if identification else (None, None)
        table.add_row(Text(name), *format_percents([*values, self_share, even, *identified]))
    return table


def _removal_table(pool, encoders):
    corpora = {figures.lir.corpus for figures in encoders.values()}
    title = f"LIR, mAP, %: r directions of each language removed, learned from {', '.join(corpora)}"
    table = new_table(title, "encoder", "r", *pool.languages, "all", names=2)
    for name, figures in encoders.items():
        for rank, row in figures.lir.ranks.items():
            values = format_percents([*row.languages.values(), row.map])
            table.add_row(Text(name), str(rank), *values, end_section=rank == max(figures.lir.ranks))
    return table


def print_classified(encoders: Mapping[str, ClassificationFigures], what: str) -> None:
    """Print the accuracy of classification by language; a star marks a significant difference to r = 0."""
    languages = list(next(iter(encoders.values())).plain)
    corpora = ", ".join(dict.fromkeys(figures.corpus for figures in encoders.values()))
    title = f"classification, accuracy, %: {what}; r directions of each language removed, learned from {corpora}"
    table = new_table(title, "encoder", "r", *languages, "mean", names=2)
    for name, figures in encoders.items():
        rows = {0: [(accuracy, False) for accuracy in figures.plain.values()]}
        rows |= {r: [(one.accuracy, one.significant) for one in of.values()] for r, of in figures.ranks.items()}
        for rank, values in rows.items():
            cells = [format_percents([accuracy])[0] + "*" * star for accuracy, star in values]
            table.add_row(
                Text(name), str(rank), *cells, *format_percents([mean_of(accuracy for accuracy, _ in values)])
            )
        table.add_section()
    console = new_console()
    console.print(table)
    console.print("* differs from r = 0, McNemar's test, p < .05 after Holm's correction")


def _usage_table(pool, encoders, key, places):
    """Return Sentri's Table 7, where a row sums to 100."""
    table = new_table(f"languages of {places}, %", "encoder", "question", *pool.languages, "most used other", names=2)
    for name, figures in encoders.items():
        shares, usage = getattr(figures.lareqa, key), figures.lareqa.usage[key]
        for language, of in shares.items():
            other = usage.languages[language].other or ""
            values = format_percents(of[answered] for answered in pool.languages)
            table.add_row(Text(name), language, *values, other, end_section=language == pool.languages[-1])
    return table


def _usage_line(usage, top):
    rows = usage.languages
    most, least = (pick(rows, key=lambda language: rows[language].self_share) for pick in (max, min))
    counted = Counter(row.other for row in rows.values() if row.other).most_common(1)
    said = f"the question's own language has {100 * usage.self_usage:.1f} % of the first {top}"
    named = (("most", most), ("least", least))
    ends = ", ".join(f"{word} in {language}, {100 * rows[language].self_share:.1f}" for word, language in named)
    others = "".join(f"; most used other: {other}, of {times} of {len(rows)} languages" for other, times in counted)
    return f"{said} ({ends}){others}"
