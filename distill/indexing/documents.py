"""Documents that a user names, one by one: JSON Lines, CSV, plain text, Markdown, HTML, and folders of them."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..data.readers import sentences_of
from ..errors import DataError
from ..system.files import usable_path
from ..system.reading import iter_jsonl, iter_lines, read_text
from ..system.types import File, Json
from .pages import html_text, markdown_title

# The first of these that a record has; a passage's own text is under one of TEXTS too.
IDS, TEXTS = ("id", "_id", "pid"), ("text", "context", "passage")
PASSAGES = "passages"
# A record's own language.
LANGUAGES = ("language", "lang")


@dataclass(frozen=True)
class Part:
    """A passage that the data gives: its place in the document's text, and its sentences' in it, both in characters."""

    start: int
    end: int
    sentences: tuple[tuple[int, int], ...] = ()
    language: str = ""


@dataclass(frozen=True)
class Document:
    """A text with an id that no other has; `place` is where it comes from, for an error.

    `fields` are what an index keeps of it beside the text, id and title among them. `parts` are its passages where the
    data gives them, which are not cut again.
    """

    id: str
    text: str
    place: str
    fields: Mapping[str, Json]
    parts: tuple[Part, ...] = ()
    language: str = ""


def read_documents(paths: Iterable[File]) -> Iterator[Document]:
    """Yield the documents of files and folders in the order given, those of a folder by their paths.

    Ids may come twice. Raises `DataError` with file and line for what is no document or has no text, as it comes to it.
    """
    for path in paths:
        for file in _files(path):
            for document in READERS[file.suffix.lower()](file):
                if not document.text.strip():
                    raise DataError(f"{document.place}: a document without text; give it some, or leave it out")
                yield document


def _files(path):
    path = usable_path(path)
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in READERS and _is_seen(file, path)]
        if not files:
            raise DataError(f"{path}: no document in it; expected files named {_named()}")
        return files
    if path.suffix.lower() not in READERS:
        raise DataError(f"{path}: cannot tell its format by its name; expected one that ends with {_named()}")
    return [path]


def _is_seen(file, folder):
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _named():
    return ", ".join(READERS)


def _jsonl(path):
    for number, row in iter_jsonl(path):
        yield _record(f"{path}, line {number}", row)


def _csv(path):
    # As long as a field of a database may be; 2**31 - 1 is the most on Windows.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    rows = csv.DictReader(iter_lines(path, newline=""), strict=True)
    try:
        if not set(TEXTS) & set(rows.fieldnames or ()):
            raise DataError(f"{path}, line 1: expected a column named {' or '.join(TEXTS)}, got {rows.fieldnames}")
        for row in rows:
            yield _record(f"{path}, line {rows.line_num}", {name: value for name, value in row.items() if name})
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: not CSV: {error}") from error


def _record(place, row):
    """A document of an object; without an id it is called after its place."""
    id = next((row[name] for name in IDS if name in row), place)
    if not isinstance(id, (str, int)) or isinstance(id, bool) or not str(id).strip():
        raise DataError(f"{place}: expected a string or a whole number as id, got {id!r}")
    text, parts = _given_parts(place, row) if PASSAGES in row else (_text(place, row), ())
    language = next((str(row[name]) for name in LANGUAGES if isinstance(row.get(name), str)), "")
    others = {name: value for name, value in row.items() if name not in (*IDS, *TEXTS, "title", PASSAGES)}
    fields = {"id": str(id), "title": str(row.get("title") or ""), **others}
    if parts:
        names = [part.get("id") for part in row[PASSAGES] if isinstance(part, dict)]
        fields |= {PASSAGES: names} if any(name is not None for name in names) else {}
    return Document(str(id), text, place, fields, parts, language)


def _text(place, row):
    value = next((row[name] for name in TEXTS if name in row), None)
    if not isinstance(value, str):
        raise DataError(f"{place}: expected a string under {' or '.join(map(repr, TEXTS))}, got {value!r}")
    return value


def _given_parts(place, row):
    """The text of a data set's document, its passages joined by a space, and their places in it."""
    rows = row[PASSAGES]
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{place}: expected a non-empty list under {PASSAGES!r}")
    texts, parts, start = [], [], 0
    for number, given in enumerate(rows):
        given = given if isinstance(given, dict) else {"text": given}
        text = _text(f"{place}, passage {number}", given)
        if not text.strip():
            raise DataError(f"{place}, passage {number}: a passage without text; give it some, or leave it out")
        parts.append(Part(start, start + len(text), sentences_of(given, text), str(given.get("language") or "")))
        texts.append(text)
        start += len(text) + 1
    return " ".join(texts), tuple(parts)


def _file(path, text, title):
    name = path.as_posix()
    return Document(name, text, name, {"id": name, "title": title or path.stem, "path": name})


def _plain(path):
    yield _file(path, read_text(path), "")


def _markdown(path):
    text = read_text(path)
    yield _file(path, text, markdown_title(text))


def _html(path):
    text, title = html_text(read_text(path))
    yield _file(path, text, title)


READERS = {".jsonl": _jsonl, ".csv": _csv, ".txt": _plain, ".md": _markdown, ".html": _html, ".htm": _html}
