"""Pages that open without a network, each in one file, made from `templates/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..retrieval.metrics import mean_of
from ..system.files import write_text
from ..system.types import File, Json
from .layout import format_p_value
from .verdicts import format_signed

TEMPLATES = Path(__file__).parent / "templates"
DASH = "–"
UNIT_NAMES = {
    "document": "a document scores by its own vector",
    "passage": "a passage scores by its own vector",
    "maxp": "a document scores by its best passage (MaxP)",
    "document-sentence": "a document scores by its best sentence",
    "document-sum": "a document scores by its best passage, as the sum of the passage's and its best sentence's score",
    "passage-sentence": "a passage scores by its best sentence",
    "passage-sum": "a passage scores by the sum of its own and its best sentence's score",
}


def write_page(path: File, template: str, **values: Json) -> None:
    """Write a page from a template; names in it are escaped, and a missing value is an error."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {
        "percent": format_percent,
        "megabytes": format_megabytes,
        "plain": format_setting,
        "p_value": format_p_value,
    }
    environment.filters |= {"points": format_signed, "unbroken": join_figures}
    functions = {"flat": flatten, "averages": average_languages, "unit_names": UNIT_NAMES}
    write_text(path, environment.get_template(template).render(**functions, **values))


def format_percent(share: float | None) -> str:
    """Return a share in [0, 1] as per cent, a dash for None."""
    return DASH if share is None else f"{100 * share:.1f}"


def join_figures(text: str) -> str:
    """Return a sentence with no-break spaces between figures and their signs."""
    return re.sub(r" (?=[%<=])|(?<=[<=]) ", "\u00a0", text)


def format_megabytes(size: float | None) -> str:
    """Return a number of bytes in MB, a dash for None."""
    return DASH if size is None else f"{size / 1e6:.1f} MB"


def format_setting(value: Json) -> str:
    """Return a setting as it is written on a command line, a dash for one that is missing or empty."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or DASH
    if isinstance(value, bool):
        return str(value).lower()
    return DASH if value in (None, "") else str(value)


def flatten(values: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    """Return `{dotted name: value}` of nested sections."""
    named = {}
    for name, value in values.items():
        named |= flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return named


def average_languages(rows: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return `{encoder: mean over its languages}`, None for one without values."""
    return {name: mean_of(row.values()) for name, row in rows.items()}
