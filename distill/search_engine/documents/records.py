"""Read documents from JSON Lines, and turn a record, such as an object or a row of a table, into a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...data.parsing import IDS, LANGUAGES, TEXTS, first_given
from ...data.readers import parse_sentences
from ...errors import DataError
from ...system.input_files import NOT_UTF8, iter_lines, parse_line
from ...system.text import dump_json
from ...system.types import Json
from .document import Document, Part, Source
from .limits import Meter, SkippedFiles

TITLE, PASSAGES = "title", "passages"


@dataclass(frozen=True)
class Columns:
    """The names that a user gives for the fields of records. Where a record has no such field, the usual name counts.

    `advice` ends the message about a record without a text.

    Example:
        >>> import distill
        >>> distill.Columns(text="body", title="headline").texts
        ('body', 'text', 'context', 'passage')
    """

    text: str | None = None
    title: str | None = None
    id: str | None = None
    advice: str = "--text-field names another"

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of a text, the first of which counts."""
        return (*([self.text] if self.text else []), *TEXTS)

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of a title, the first of which counts."""
        return (*([self.title] if self.title else []), TITLE)

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of an id, the first of which counts."""
        return (*([self.id] if self.id else []), *IDS)


def make_document(place: str, row: Mapping[str, Json], columns: Columns) -> Document:
    """Make a document of a record. Without an id it is named after its place."""
    named = first_given(row, columns.ids)
    id = place if named is None else row[named]
    if not isinstance(id, (str, int)) or isinstance(id, bool) or not str(id).strip():
        raise DataError(f"{place}: expected a string or a whole number as id, got {id!r}")
    # A cell of a table is no list.
    is_field = isinstance(row.get(PASSAGES), str)
    has_parts = row.get(PASSAGES) is not None and not is_field
    text, parts = _join_parts(place, row, columns) if has_parts else (_text(place, row, columns), ())
    title = first_given(row, columns.titles)
    used = {named, title, "id", TITLE, None if is_field else PASSAGES, first_given(row, columns.texts)}
    # Several records of one text under two names: the one that is not taken is a field, unless it is null.
    others = {name: value for name, value in row.items() if name not in used and not (name in IDS and value is None)}
    fields = {"id": str(id), TITLE: _as_title(row[title]) if title else "", **others}
    if parts:
        names = [part.get("id") for part in row[PASSAGES] if isinstance(part, dict)]
        fields |= {PASSAGES: names} if any(name is not None for name in names) else {}
    return Document(str(id), text, place, fields, parts, read_language_field(row))


def _as_title(value: Json) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    return dump_json(value) if value else ""


def read_language_field(fields: Mapping[str, Json]) -> str:
    """Return the language that fields name, or an empty text."""
    return next((fields[name] for name in LANGUAGES if isinstance(fields.get(name), str)), "")


def _text(place, row, columns):
    name = first_given(row, columns.texts)
    value = row[name] if name else None
    if not isinstance(value, str):
        known = " or ".join(map(repr, columns.texts))
        raise DataError(f"{place}: expected a string under {known}, got {value!r}; {columns.advice}")
    return value


def _join_parts(place, row, columns):
    """Return the text of a data set's document, its passages joined by a space, and their places in it."""
    rows = row[PASSAGES]
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{place}: expected a non-empty list under {PASSAGES!r}")
    texts, parts, start = [], [], 0
    for number, given in enumerate(rows):
        given = given if isinstance(given, dict) else {"text": given}
        text = _text(f"{place}, passage {number}", given, columns)
        if not text.strip():
            raise DataError(f"{place}, passage {number}: a passage without text; give it some, or leave it out")
        parts.append(Part(start, start + len(text), parse_sentences(given, text), str(given.get("language") or "")))
        texts.append(text)
        start += len(text) + 1
    return " ".join(texts), tuple(parts)


def read_jsonl(source: Source, columns: Columns, skipped: SkippedFiles, meter: Meter) -> Iterator[Document]:
    """Yield the documents of a file, without malformed lines. Raises `DataError` if the file cannot be read."""
    lines = iter_lines(source.path, errors="surrogateescape", count=meter.count)
    for number, line in enumerate(lines, start=1):
        meter.begin()
        if not line.strip():
            continue
        place = f"{source.name}, line {number}"
        try:
            if NOT_UTF8.search(line):
                raise DataError(f"{place}: not UTF-8; save the file as UTF-8")
            yield make_document(place, parse_line(source.name, number, line), columns)
        except DataError as error:
            skipped.leave_out(error)
