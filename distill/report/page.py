"""Pages that open without a network: one file each, out of `templates/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..retrieval.metrics import mean_of
from ..system.files import write_text
from ..system.types import File, Json
from .verdicts import signed

TEMPLATES = Path(__file__).parent / "templates"
DASH = "–"
UNIT_NAMES = {
    "document": "one vector a document",
    "passage": "one vector a passage",
    "maxp": "a document as its best passage (MaxP)",
    "document-sentence": "a document as its best sentence",
    "document-sum": "a document as its best passage, which scores as its vector's and its best sentence's together",
    "passage-sentence": "a passage as its best sentence",
    "passage-sum": "a passage as its vector's and its best sentence's score together",
}


def write_page(path: File, template: str, **values: Json) -> None:
    """Write a page of `templates/`; names in it are escaped, and a value that is missing is an error."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"percent": percent, "megabytes": megabytes, "plain": plain, "p_value": p_value}
    environment.filters |= {"points": signed, "unbroken": unbroken}
    functions = {"flat": flat, "averages": averages, "unit_names": UNIT_NAMES}
    write_text(path, environment.get_template(template).render(**functions, **values))


def percent(share: float | None) -> str:
    """Return a share in [0, 1] in per cent, a dash for None."""
    return DASH if share is None else f"{100 * share:.1f}"


def unbroken(text: str) -> str:
    """Return a sentence whose figures keep their sign on their line."""
    return re.sub(r" (?=[%<=])|(?<=[<=]) ", "\u00a0", text)


def p_value(p: float) -> str:
    """Return three digits without the zero before the point, as many stand side by side; never nothing at all."""
    return "<.001" if p < 0.0005 else f"{p:.3f}".removeprefix("0")


def megabytes(size: float | None) -> str:
    """Return bytes in MB, a dash for None."""
    return DASH if size is None else f"{size / 1e6:.1f} MB"


def plain(value: Json) -> str:
    """Return a setting as it is written on a command line; a dash for what is not there or empty."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or DASH
    if isinstance(value, bool):
        return str(value).lower()
    return DASH if value in (None, "") else str(value)


def flat(values: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    """Return `{dotted name: value}` of nested sections."""
    named = {}
    for name, value in values.items():
        named |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return named


def averages(rows: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return `{encoder: mean over its languages}`; None where it has no value."""
    return {name: mean_of(row.values()) for name, row in rows.items()}
