"""Pages that open without a network: one file each, out of `templates/`."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..retrieval.metrics import mean_of
from ..system.files import write_text

TEMPLATES = Path(__file__).parent / "templates"
DASH = "–"
UNIT_NAMES = {
    "document": "one vector a document",
    "passage": "one vector a passage",
    "maxp": "a document as its best passage (MaxP)",
}


def write_page(path, template, **values):
    """Write a page of `templates/`; names in it are escaped, and a value that is missing is an error."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"percent": percent, "megabytes": megabytes, "plain": plain, "p_value": p_value}
    functions = {"flat": flat, "averages": averages, "unit_names": UNIT_NAMES}
    write_text(path, environment.get_template(template).render(**functions, **values))


def percent(share):
    """A share in [0, 1] in per cent, a dash for None."""
    return DASH if share is None else f"{100 * share:.1f}"


def p_value(p):
    """Three digits without the zero before the point, as many stand side by side; never nothing at all."""
    return "<.001" if p < 0.0005 else f"{p:.3f}".removeprefix("0")


def megabytes(size):
    return DASH if size is None else f"{size / 1e6:.1f} MB"


def plain(value):
    """A setting as it is written on a command line; a dash for what is not there or empty."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or DASH
    if isinstance(value, bool):
        return str(value).lower()
    return DASH if value in (None, "") else str(value)


def flat(values, prefix=""):
    """`{dotted name: value}` of nested sections."""
    found = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def averages(rows):
    """`{encoder: mean over its languages}`; None where it has no value."""
    return {name: mean_of(row.values()) for name, row in rows.items()}
