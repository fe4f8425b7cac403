"""Parse and check the JSON bodies of requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from ...encoders.files.questions import length_problem
from ...errors import first_line
from ...system.types import Json, Role
from ..indexing.index_file import list_wanted
from .limits import (
    MOST_FIELDS,
    MOST_HITS,
    MOST_HITS_TOGETHER,
    Limits,
    Refusal,
    shorten_quote,
    size_refusal,
    value_refusal,
)

# The names that clients of several services use for the role of a text.
ROLES: dict[str, Role] = {
    **dict.fromkeys(("query", "question", "search_query"), "question"),
    **dict.fromkeys(("document", "passage", "search_document"), "document"),
}
FORMATS = ("float", "base64")
NAMES: dict[type, str] = {str: "a text", int: "a whole number", bool: "true or false"}
SEARCH_FIELDS = ("model", "query", "queries", "top", "where", "hybrid")


@dataclass(frozen=True)
class EmbeddingRequest:
    """Texts to encode; `role` is None if the request names none."""

    texts: tuple[str, ...]
    model: str | None
    role: Role | None
    base64: bool


@dataclass(frozen=True)
class SearchRequest:
    """Questions to an index; `many` is True if they came as a list."""

    questions: tuple[str, ...]
    many: bool
    model: str | None
    top: int
    where: tuple[tuple[str, str], ...]
    hybrid: bool


def parse_object(body: bytes, exact: bool = False) -> Mapping[str, Json]:
    """Parse a body that holds a JSON object; `exact` reads whole numbers of any length."""
    try:
        value = orjson.loads(body)
        # orjson is stricter, but turns whole numbers of more than 64 bits into floats.
        value = json.loads(body) if exact else value
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"the body is not JSON: {first_line(error)}", "invalid_json") from None
    if not isinstance(value, dict):
        raise Refusal(400, "the body is not a JSON object", "invalid_json")
    return value


def parse_embedding_request(body: bytes, dimension: int, limits: Limits) -> EmbeddingRequest:
    """Parse a request for embeddings. Raises `Refusal` if the body is not such a request, or is beyond a limit."""
    fields = parse_object(body)
    texts, _ = _read_texts(fields, "input", limits)
    form = _read_field(fields, "encoding_format", str, "float")
    if form not in FORMATS:
        raise value_refusal("encoding_format", f"expected {' or '.join(FORMATS)}, got {shorten_quote(form)!r}")
    dimensions = _read_field(fields, "dimensions", int, dimension)
    if dimensions != dimension:
        raise value_refusal("dimensions", f"this encoder's vectors have {dimension} and are not cut; got {dimensions}")
    return EmbeddingRequest(texts, _read_field(fields, "model", str, None), _read_role(fields), form == "base64")


def parse_search_request(body: bytes, limits: Limits) -> SearchRequest:
    """Parse a request for a search. Raises `Refusal` if the body is not such a request, or is beyond a limit."""
    fields = parse_object(body, exact=True)
    if unknown := next((name for name in fields if name not in SEARCH_FIELDS), None):
        raise value_refusal(unknown, f"no such field; there are {', '.join(SEARCH_FIELDS)}")
    given = [name for name in ("query", "queries") if fields.get(name) is not None]
    if len(given) != 1:
        raise value_refusal("query", "give a query, or queries, a list")
    [name] = given
    questions, many = _read_texts(fields, name, limits)
    if many != (name == "queries"):
        raise value_refusal(name, "expected a text" if many else "expected a list of texts")
    top = _read_field(fields, "top", int, 5)
    if not 1 <= top <= MOST_HITS:
        raise value_refusal("top", f"expected a number from 1 to {MOST_HITS}, got {top}")
    if len(questions) * top > MOST_HITS_TOGETHER:
        raise size_refusal(
            "top", f"top: {top} passages of {len(questions)} questions; together {MOST_HITS_TOGETHER} at most"
        )
    hybrid = _read_field(fields, "hybrid", bool, False)
    return SearchRequest(questions, many, _read_field(fields, "model", str, None), top, _read_where(fields), hybrid)


def _read_field(fields, name, kind, default):
    """Read a field of one type. The value null counts as absent."""
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise value_refusal(name, f"expected {NAMES[kind]}, got {_shorten(value)}")
    return value


def _shorten(value):
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return shorten_quote(json.dumps(value, ensure_ascii=False))


def _read_role(fields) -> Role | None:
    kind = _read_field(fields, "input_type", str, None)
    if kind is not None and kind not in ROLES:
        raise value_refusal("input_type", f"expected one of {', '.join(ROLES)}, got {shorten_quote(kind)!r}")
    return ROLES[kind] if kind else None


def _read_texts(fields, name, limits):
    """Read the texts of a field, and return True beside them if the field is a list."""
    value = fields.get(name)
    texts = value if isinstance(value, list) else [value]
    if not texts:
        raise value_refusal(name, "an empty list; give a text")
    if len(texts) > limits.texts:
        raise size_refusal(name, f"{name}: {len(texts)} texts; a request takes {limits.texts} at most")
    if _is_tokens(value):
        raise _tokens_refusal(f"{name}[0]")
    for place, text in enumerate(texts):
        _require_text(text, f"{name}[{place}]" if isinstance(value, list) else name, limits)
    return tuple(texts), isinstance(value, list)


def _require_text(text, place, limits):
    if _is_tokens(text):
        raise _tokens_refusal(place)
    if not isinstance(text, str):
        raise value_refusal(place, f"expected a text, got {_shorten(text)}")
    if not text.strip():
        raise value_refusal(place, "an empty text")
    if problem := length_problem(text, limits.characters):
        raise size_refusal(place, f"{place}: {problem}")


def _is_tokens(value):
    """Return True for a list of whole numbers, such as the IDs of tokens."""
    members = value if isinstance(value, list) else []
    return bool(members) and all(isinstance(one, int) and not isinstance(one, bool) for one in members)


def _tokens_refusal(place):
    return Refusal(
        422,
        f"{place}: expected a text, got numbers of tokens, which are another encoder's; have the client send text "
        "(LangChain: check_embedding_ctx_length=False)",
        "tokens",
        place,
    )


def _read_where(fields):
    where = fields.get("where") or {}
    if not isinstance(where, dict):
        raise value_refusal("where", f"expected an object of fields and their values, got {_shorten(where)}")
    listed = {name: value if isinstance(value, list) else [value] for name, value in where.items()}
    if (number := sum(max(1, len(values)) for values in listed.values())) > MOST_FIELDS:
        raise value_refusal("where", f"{number} fields and values; {MOST_FIELDS} are taken at most")
    for name, values in listed.items():
        if not values or any(isinstance(value, dict | list) for value in values):
            raise value_refusal(f"where.{name}", "expected a text, a number, true, false or null, or a list of these")
    return tuple(sorted(list_wanted(where)))
