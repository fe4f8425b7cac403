"""Read documents from JSON Lines, one object per line."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import DataError
from ..system.reading import NOT_UTF8, iter_lines, parse_line
from .document import Document
from .records import Columns, make_document
from .skipped import SkippedFiles
from .source import Source


def read_jsonl(source: Source, columns: Columns, skipped: SkippedFiles) -> Iterator[Document]:
    """Yield the documents of a file, without malformed lines.

    Args:
        source: The file.
        columns: The names of fields.
        skipped: Counts malformed lines.

    Yields:
        The documents.

    Raises:
        DataError: If the file cannot be read.
    """
    for number, line in enumerate(iter_lines(source.path, errors="surrogateescape"), start=1):
        if not line.strip():
            continue
        place = f"{source.name}, line {number}"
        try:
            if NOT_UTF8.search(line):
                raise DataError(f"{place}: not UTF-8; save the file as UTF-8")
            yield make_document(place, parse_line(source.name, number, line), columns)
        except DataError as error:
            skipped.leave_out(error)
