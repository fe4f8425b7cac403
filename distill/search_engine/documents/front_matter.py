"""Parse front matter, fields before a document's text: YAML between lines of ---, or TOML between lines of +++."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator

import tomlkit
import tomlkit.exceptions
from yaml import SafeLoader, YAMLError

from ...errors import first_line
from ...system.text import make_well_formed
from ...system.types import Json

BLOCK = re.compile(r"\A(?:[ \t]*\n)*(---|\+\+\+)[ \t]*\n(.*?)(?:^\1|^\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# A block that YAML does not take is front matter all the same where it begins so, and not text between two rules.
NAMED = re.compile(r"\s*(?:#.*\n\s*)*[\w-]+[ \t]*:")
# Values that a document's fields may have together; aliases may make any number of few lines.
MOST = 10_000


def split_front_matter(text: str) -> tuple[dict[str, Json], str, str]:
    """Return a text's fields, the rest of the text, and the problem with the fields, if any.

    Fields are JSON: dates become texts in ISO form, and numbers that are not finite become null. Text between two rules
    that names no fields is kept as text.
    """
    block = BLOCK.match(text)
    if not block:
        return {}, text, ""
    try:
        value = _parse_fields(block[1], block[2])
        fields = {} if value is None else _as_json(value, iter(range(MOST)))
    except (YAMLError, tomlkit.exceptions.TOMLKitError, ValueError, RecursionError) as error:
        if block[1] == "---" and not NAMED.match(block[2]):
            return {}, text, ""
        return {}, text[block.end() :], f"its front matter cannot be read: {first_line(error)}"
    return (fields, text[block.end() :], "") if isinstance(fields, dict) else ({}, text, "")


class _Loader(SafeLoader):
    """A YAML 1.2 loader, in which `no` is Norwegian and 10:30 a time, instead of false and 630."""

    yaml_implicit_resolvers = {
        first: [pair for pair in pairs if not pair[0].endswith((":bool", ":int", ":float"))]
        for first, pairs in SafeLoader.yaml_implicit_resolvers.items()
    }


for _kind, _form, _firsts in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"^(?:{_form})$"), list(_firsts))


def _parse_fields(mark, content):
    # A SafeLoader makes texts, numbers, dates, lists and mappings, and no other objects.
    return _Loader(content).get_single_data() if mark == "---" else tomlkit.parse(content).unwrap()


def _as_json(value, left: Iterator[int]) -> Json:
    if next(left, None) is None:
        raise ValueError(f"more than {MOST} values")
    if isinstance(value, dict):
        return {make_well_formed(str(name)): _as_json(part, left) for name, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_as_json(part, left) for part in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # An emoji that json.dumps escaped is two halves to YAML.
    return value if value is None or isinstance(value, (int, float)) else make_well_formed(str(value))
