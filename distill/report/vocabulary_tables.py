"""Tables of vocabularies before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from .layout import format_percents, new_console, new_table

if TYPE_CHECKING:
    from ..system.types import Json


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
