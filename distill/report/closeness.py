"""How close a student comes to a teacher that was not trained, as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from .layout import format_percents, new_console, new_table
from .verdicts import choose_split, choose_unit

if TYPE_CHECKING:
    from ..system.types import Json

COLUMNS = ("language", "encoder", "cosine", "5th %", "least", "Spearman", "same of 10, %")


def make_closeness_rows(metrics: Mapping[str, Json]) -> list[list[str]]:
    """Return the rows of the table by language, base and student side by side, in the order of `COLUMNS`.

    Args:
        metrics: the content of `metrics.json`.

    Returns:
        The cells; a cosine is empty where the spaces are not the same. No rows for a run without a fixed teacher.
    """
    encoders = (metrics.get("closeness") or {}).get("encoders", {})
    languages = [name for name in metrics["languages"] if any(name in rows for rows in encoders.values())]
    return [
        [language if place == 0 else "", name, *_format_figures(rows[language])]
        for language in languages
        for place, (name, rows) in enumerate(encoders.items())
    ]


def _format_figures(row):
    names = ("cosine_mean", "cosine_p5", "cosine_min", "spearman")
    figures = ["–" if row[name] is None else f"{row[name]:.2f}".replace("-", "−") for name in names]
    return [*figures, *format_percents([row["neighbours"]])]


def describe_closeness(metrics: Mapping[str, Json]) -> str:
    """Return a sentence on what the table by language compares; an empty text for a run without a fixed teacher."""
    closeness = metrics.get("closeness")
    if not closeness:
        return ""
    counts = {name: row["texts"] for name, row in closeness["encoders"]["student"].items()}
    texts = ", ".join(f"{count} in {name}" for name, count in counts.items())
    pivot = metrics["settings"]["teacher"]["language"]
    start = "; start is the base with a map into the teacher's space" if "start" in closeness["encoders"] else ""
    return (
        f"Held-out texts of {closeness['split']}: {texts}; the teacher reads those of other languages in their {pivot} "
        f"version{start}. Cosine of an encoder's vector of a text to the teacher's: mean, 5th percentile and least, – "
        "where the spaces differ. Spearman's correlation of the cosines of all pairs of texts. How many of a text's "
        "ten nearest by the teacher are among its ten nearest."
    )


def print_closeness(metrics: Mapping[str, Json]) -> None:
    """Print the table of a run with a fixed teacher, and what it compares; nothing for another run."""
    if not (rows := make_closeness_rows(metrics)):
        return
    table = new_table(f"closeness to the teacher, {metrics['closeness']['split']}", *COLUMNS)
    table.columns[1].justify = "left"
    for row in rows:
        table.add_row(*map(Text, row))
    new_console().print(table)
    new_console().print(describe_closeness(metrics), soft_wrap=True, markup=False)


def describe_gain(metrics: Mapping[str, Json]) -> str:
    """Return a sentence on the share of a fixed teacher's gain over the base that the bundle has.

    There is a share only in languages in which the teacher is significantly above the base, by McNemar's test with
    Holm's correction. The text is empty for a run without a fixed teacher.
    """
    split, unit = choose_split(metrics), choose_unit(metrics)
    part, options = metrics["splits"][split], metrics["settings"].get("teacher", {})
    tests = part["mcnemar"].get("teacher against base", {}).get(unit)
    if not options.get("model") or not tests:
        return ""
    clear = {name: row for name, row in tests.items() if row["significant"] and row["a"] > row["b"]}
    where = f"P@1, {split}, {unit}"
    if not clear:
        return f"The teacher is significantly above the base in no language ({where}), so there is no gain to share."
    bundle = part["encoders"]["bundle"][unit]
    shares = "; ".join(_format_share(name, bundle[name]["p@1"], row) for name, row in clear.items())
    return f"Of the teacher's gain over the base the bundle has {shares} ({where}; where the gain is significant)."


def _format_share(language, bundle, row):
    share = (bundle - row["b"]) / (row["a"] - row["b"])
    part = "none" if share <= 0 else "all" if share >= 1 else f"{100 * share:.0f} %"
    return f"{part} in {language} ({100 * row['b']:.1f} to {100 * bundle:.1f}, teacher {100 * row['a']:.1f})"
