"""Choose the reader of a file by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from ...errors import DataError
from ...system.input_files import read_text
from .document import Content, Document, Source, spell_name
from .limits import Meter, SkippedFiles
from .markdown import read_markdown
from .office import read_docx, read_pdf
from .pages import read_html
from .records import TITLE, Columns, read_jsonl
from .tables import read_csv, read_tsv

# How files of other formats begin that may be UTF-8.
FOREIGN = ("%PDF-", "{\\rtf", "PK\x03\x04")

Reader: TypeAlias = Callable[[Source, Columns, SkippedFiles, Meter], Iterator[Document]]


def _single_reader(read: Callable[[Path, Meter], Content]) -> Reader:
    """Make a reader of files that are one document each, named after its path."""

    def reader(source: Source, columns: Columns, skipped: SkippedFiles, meter: Meter) -> Iterator[Document]:
        content, name = meter.watch(lambda: read(source.path, meter)), source.name
        if content.text.startswith(FOREIGN):
            raise DataError(f"{name}: a PDF, RTF or ZIP file by another name; give it the ending of its format")
        if content.problem:
            skipped.note(f"{name}: {content.problem}")
        others = {key: value for key, value in content.fields.items() if key not in ("id", TITLE, "path")}
        fields = {"id": name, TITLE: content.title or spell_name(source.path.stem), "path": name, **others}
        yield Document(name, content.text, name, fields, language=content.language)

    return reader


def read_plain(path: Path, meter: Meter) -> Content:
    """Return the text of a file. Raises `DataError` if it is not UTF-8."""
    return Content(read_text(path, meter.count))


READERS: dict[str, Reader] = {
    **dict.fromkeys((".jsonl", ".ndjson"), read_jsonl),
    **{".csv": read_csv, ".tsv": read_tsv},
    **dict.fromkeys((".txt", ".text"), _single_reader(read_plain)),
    **dict.fromkeys((".md", ".markdown"), _single_reader(read_markdown)),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _single_reader(read_html)),
    **{".pdf": _single_reader(read_pdf), ".docx": _single_reader(read_docx)},
}
# What the extra `files` reads, by its packages.
PACKAGES = {".pdf": "pypdf", ".docx": "mammoth"}


def is_readable(ending: str) -> bool:
    """Return whether files with this ending can be read by the installed packages."""
    return ending in READERS and (ending not in PACKAGES or find_spec(PACKAGES[ending]) is not None)


def find_reader(path: Path) -> Reader:
    """Return the reader of a file. Raises `DataError` if its name tells no format."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: cannot tell its format by its name; expected one that ends with {list_endings()}")
    return reader


def list_endings() -> str:
    """List the endings that are read, for a message."""
    return ", ".join(READERS)
