"""The table of the task bitext, a line on translations, and sections of a page on tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rich.text import Text

from ..data.pairs import Bitext
from ..evaluation.translation import TranslationCounts
from ..retrieval.metrics import mean_of
from ..system.types import Json
from .charts import draw_bars, draw_heat_map, draw_lines, draw_plane
from .layout import format_percents, new_console, new_table


def print_translated(task: str, done: TranslationCounts) -> None:
    """Print how many questions of a task were translated, in one line."""
    counts = ", ".join(f"{language} {count}" for language, count in done.questions.items())
    left = ", ".join(f"{language} {count}" for language, count in done.as_they_are.items())
    more = f"; asked as they are: {left}" if left else ""
    more += f"; and {done.candidates} sentences" if done.candidates else ""
    more += "" if done.milliseconds is None else f"; {done.milliseconds:.1f} ms per question, in batches"
    new_console().print(Text(f"{task}: questions translated by {done.source}: {counts}{more}"), soft_wrap=True)


def print_bitext(bitext: Bitext, encoders: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print the accuracy of bitext retrieval by language, as shares to and from the pivot."""
    languages = list(next(iter(encoders.values())))
    title = f"bitext retrieval, accuracy, %: {bitext.name}, {bitext.size} sentences"
    table = new_table(title, "encoder", "direction", *languages, "mean", names=2)
    for name, row in encoders.items():
        for way, arrow in (("to", f"→ {bitext.pivot}"), ("from", f"{bitext.pivot} →")):
            values = [row[language][way] for language in languages]
            table.add_row(Text(name), arrow, *format_percents([*values, mean_of(values)]), end_section=way == "from")
    new_console().print(table)


MAPS = {
    "one_target": "mAP by question and answer language, one correct answer in the pool",
    "share": "share of the first answers by question and answer language",
}
# Of a template: figures, drawings by encoder, and functions that it calls.
Value: TypeAlias = Json | Callable[..., Json]


@dataclass(frozen=True)
class Section:
    """A section of a page: its template, its heading, what `--json` writes (`part`) and the values of the template."""

    template: str
    heading: str
    part: Mapping[str, Json]
    values: dict[str, Value]


def make_lareqa_section(part: Mapping[str, Json]) -> Section:
    encoders = part["encoders"]
    values: dict[str, Value] = {
        "lareqa": part,
        "maps": {key: _heat_maps(_select(encoders, key), label, key) for key, label in MAPS.items()},
        "planes": _planes(_select(encoders, "pca")),
        "left": _planes(_select(_select(encoders, "lir"), "pca"), "language information removed, ", "left"),
        "charts": _charts(encoders, part["languages"]),
        "select": _select,
    }
    return Section("_lareqa.html.j2", f"LAReQA on {part['name']}", part, values)


def make_bitext_section(part: Mapping[str, Json]) -> Section:
    values: dict[str, Value] = {"bitext": part, "directed": _select_direction, "columns": _columns}
    return Section("_bitext.html.j2", f"Bitext retrieval on {part['name']}", part, values)


def _select(encoders, key):
    """Return `{encoder: value of key}` for the encoders that have one."""
    return {name: row[key] for name, row in encoders.items() if row.get(key) is not None}


def _heat_maps(tables, label, key):
    """Return `{encoder: SVG}`, shaded on one scale; `key` begins their ids."""
    values = [value for rows in tables.values() for row in rows.values() for value in row.values() if value is not None]
    highest = max(values, default=0)
    return {
        name: draw_heat_map(rows, f"{name}: {label}", f"{key}-{number}", highest)
        for number, (name, rows) in enumerate(tables.items())
    }


def _charts(encoders, languages):
    """Return `{analysis: SVG}` for the analyses with a few numbers per encoder."""
    removed, identification = _select(encoders, "removed"), _select(encoders, "language_id")
    ranks = {name: of["ranks"] for name, of in _select(encoders, "lir").items()}
    kept = {
        name: {"all answers": encoders[name]["map"], "−rand": of["rand"], "−same": of["same"]}
        for name, of in removed.items()
    }
    identified = {name: {"all": of["accuracy"], **of["against"]} for name, of in identification.items()}
    means = {name: {rank: row["map"] for rank, row in of.items()} for name, of in ranks.items()}
    alone = {
        name: {lang: row.get(lang) for lang in languages} for name, row in _select(encoders, "monolingual").items()
    }
    chance = max((of["chance"] for of in identification.values()), default=None)
    return {
        "removed": draw_bars(kept, "mAP, %", "removed") if kept else "",
        "monolingual": draw_bars(alone, "mAP in a monolingual pool, %", "monolingual") if alone else "",
        "language_id": draw_bars(identified, "accuracy, %", "identified", chance) if identified else "",
        "lir": draw_lines(means, "mAP, %", "lir", "components removed from each language") if means else "",
    }


def _planes(projections, said="", key="plane"):
    """Return `{encoder: SVG}` of vectors in the plane."""
    label = f"{said}first two principal components of questions and candidates, a panel per language"
    return {
        name: draw_plane(of["points"], f"{name}: {label}", f"{key}-{number}")
        for number, (name, of) in enumerate(projections.items())
    }


def _select_direction(encoders, direction):
    """Return `{encoder: {language: share}}` for one direction, "to" the pivot or "from" it."""
    return {name: {lang: of.get(direction) for lang, of in row.items()} for name, row in encoders.items()}


def _columns(rows):
    """Return the languages of all rows, each once, in their order."""
    return list(dict.fromkeys(language for row in rows.values() for language in row))
