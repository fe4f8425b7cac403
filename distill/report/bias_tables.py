"""Tables of the tasks lareqa and bitext, and a line on translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rich.text import Text

from ..data.pairs import Bitext
from ..data.pool import Pool
from ..evaluation.translation import TranslationCounts
from ..papers.bias.analyses import BiasFigures, count_top
from ..papers.bias.classification import ClassificationFigures
from ..retrieval.metrics import mean_of
from ..system.types import Json
from .charts import draw_bars, draw_heat_map, draw_lines, draw_plane
from .layout import format_percents, new_console, new_table


def print_lareqa(pool: Pool, split: str, encoders: Mapping[str, BiasFigures]) -> None:
    """Print mAP by language, figures of language bias, and the effect of language information removal.

    Args:
        pool: the questions and candidate sentences.
        encoders: `{encoder: figures}`.
    """
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
        removed, told = figures.lareqa.removed, figures.language_id
        values = (figures.lareqa.precision.map, removed.rand, removed.same, removed.delta)
        self_share = mean_of(of[language] for language, of in figures.lareqa.share.items())
        identified = (told.accuracy, told.chance) if told else (None, None)
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
    """Print the accuracy of classification by language; a star marks a significant difference to r = 0.

    Args:
        encoders: `{encoder: figures}`, with r directions removed.
    """
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


def print_translated(task: str, done: TranslationCounts) -> None:
    """Print how many questions of a task were translated, in one line."""
    counts = ", ".join(f"{language} {count}" for language, count in done.questions.items())
    left = ", ".join(f"{language} {count}" for language, count in done.as_they_are.items())
    more = f"; asked as they are: {left}" if left else ""
    more += f"; and {done.candidates} sentences" if done.candidates else ""
    more += "" if done.milliseconds is None else f"; {done.milliseconds:.1f} ms per question, in batches"
    new_console().print(Text(f"{task}: questions translated by {done.source}: {counts}{more}"), soft_wrap=True)


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


def print_bitext(bitext: Bitext, encoders: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print the accuracy of bitext retrieval by language, in both directions.

    Args:
        encoders: `encoders[name][language]` is `{"to", "from"}`: shares to and from the pivot.
    """
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
    """Return the section on language bias."""
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
    """Return the section on bitext retrieval."""
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
    removed, told = _select(encoders, "removed"), _select(encoders, "language_id")
    ranks = {name: of["ranks"] for name, of in _select(encoders, "lir").items()}
    kept = {
        name: {"all answers": encoders[name]["map"], "−rand": of["rand"], "−same": of["same"]}
        for name, of in removed.items()
    }
    identified = {name: {"all": of["accuracy"], **of["against"]} for name, of in told.items()}
    means = {name: {rank: row["map"] for rank, row in of.items()} for name, of in ranks.items()}
    alone = {
        name: {lang: row.get(lang) for lang in languages} for name, row in _select(encoders, "monolingual").items()
    }
    chance = max((of["chance"] for of in told.values()), default=None)
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
