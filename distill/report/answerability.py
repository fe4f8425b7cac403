"""How well encoders tell which questions have an answer: a table, and a section of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from ..evaluation.calibration import ConfidenceFigures
from ..system.types import Json
from .bias_sections import Section, Value
from .charts import draw_risk_chart
from .layout import format_percents, new_console, new_table

# As likely as not.
EVEN = 0.5
# The rows of both tables: what they are called, and the field of `ConfidenceFigures`.
ROWS = {
    "right first": "right",
    "AUROC": "auroc",
    "calibration error": "ece",
    "answered": "answered",
    "right of these": "precision",
    "missed of right": "missed",
    "told of removed": "told",
}


def print_answerable(encoders: Mapping[str, Mapping[str, ConfidenceFigures]], place: str) -> None:
    """Print how well encoders tell which questions have an answer, by language.

    Args:
        encoders: `{encoder: {language: figures}}`; half of the questions have no answer.
        place: the data set and the split, for the title.
    """
    languages = next(iter(encoders.values()))
    table = new_table(f"half without an answer, {place}, %", "encoder", "", *languages, names=2)
    for name, figures in encoders.items():
        for place_of, (label, field) in enumerate(ROWS.items()):
            values = [getattr(row, field) for row in figures.values()]
            if any(value is not None for value in values):
                table.add_row(Text("" if place_of else name), label, *format_percents(values))
        table.add_section()
    table.add_row("", "questions", *(str(row.cases) for row in languages.values()))
    new_console().print(table)


def print_remark(probability: float, threshold: float) -> None:
    """Print how likely the first passage answers a question, and a warning if that is unlikely.

    Args:
        threshold: the probability below which nothing is found. The answer is unsure where it is less likely than not.
    """
    line = f"{100 * probability:.0f} % likely that the first passage answers"
    if probability < max(threshold, EVEN):
        line = f"{'nothing found' if probability < threshold else 'unsure'}: {line}"
    new_console().print(line, style="dim", soft_wrap=True, markup=False)


def make_answerable_section(part: Mapping[str, Json]) -> Section:
    """Return the section on questions without an answer, from `metrics.json` or the content of `--json`."""
    encoders = part["encoders"]
    values: dict[str, Value] = {
        "answerable": part,
        "answerable_rows": ROWS,
        "answerable_languages": list_languages(encoders),
        "risks": draw_risk_chart({name: figures["all"]["curve"] for name, figures in encoders.items()}),
    }
    return Section("_answerable.html.j2", f"Questions without an answer, {part['name']}", part, values)


def list_languages(encoders: Mapping[str, Mapping[str, Json]]) -> Sequence[str]:
    """Return the languages of all encoders, and `all`, each once."""
    return list(dict.fromkeys(language for figures in encoders.values() for language in figures))
