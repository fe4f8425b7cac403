"""Read documents from tables, one per row: CSV with the separator of its header, or tab-separated values."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from ..errors import DataError, one_line
from ..system.progress import say
from ..system.reading import NOT_UTF8, iter_lines
from .document import Document, Source
from .records import LANGUAGES, TEXTS, Columns, make_document
from .skipped_files import SkippedFiles

SEPARATORS = (",", ";", "\t", "|")
# Columns of where a row is from.
ADDRESSES = ("url", "path")
# The first line of a table whose separator Excel is told, and its cells.
NAMED, NAMED_CELLS = re.compile(r"sep=(.)\s*", re.IGNORECASE), ("sep=", "")


def read_csv(source: Source, columns: Columns, skipped: SkippedFiles) -> Iterator[Document]:
    """Yield the documents of a CSV file, without malformed rows.

    Args:
        source: The file.
        columns: The names of fields.
        skipped: Counts malformed rows.

    Yields:
        The documents.

    Raises:
        DataError: If the table has no consistent shape.
    """
    named, head = _read_header(source)
    separator = named or max(SEPARATORS, key=lambda one: (_is_head(_cells(head, one), columns), len(_cells(head, one))))
    # Where a blank follows each separator it belongs to none of the cells.
    spaced = all(cell.startswith(" ") for cell in head.split(separator)[1:]) and separator in head
    yield from _rows(source, columns, skipped, {"delimiter": separator, "skipinitialspace": spaced, "strict": True})


def read_tsv(source: Source, columns: Columns, skipped: SkippedFiles) -> Iterator[Document]:
    """Yield the documents of tab-separated values, quoted if the whole file is, as spreadsheets write it.

    Args:
        source: The file.
        columns: The names of fields.
        skipped: Counts malformed rows.

    Yields:
        The documents.
    """
    form = {"delimiter": "\t", "strict": True}
    if not _is_quoted(source.path, form):
        form |= {"quoting": csv.QUOTE_NONE}
    yield from _rows(source, columns, skipped, form)


def _is_quoted(path: Path, form) -> bool:
    """Return whether quotes belong to the format and not to the text: each row then has as many cells as the header.

    Rows that fit without quotes too, and are fewer with them, begin and end with quotes of their own.
    """
    try:
        quoted = Counter(len(row) for row in csv.reader(_lines(path), **form) if row)
    except csv.Error:
        return False
    if len(quoted) > 1:
        return False
    plain = Counter(len(row) for row in csv.reader(_lines(path), **form, quoting=csv.QUOTE_NONE) if row)
    return quoted == plain or len(plain) > 1 or 1 in quoted


def _rows(source, columns, skipped, form):
    names = [name.strip() for name in next(_read_rows(source, form), (0, []))[1]]
    while names and not names[-1]:
        # A column without a name holds what a separator in a text cut off.
        names.pop()
    _require_head(names, source, columns)
    _require_shape(names, source, form)
    searched = [] if set(columns.texts) & set(names) else _list_searched(names, columns)
    if searched:
        told = f"no column {' or '.join(columns.texts)}, so it is searched by {', '.join(searched)}"
        say(one_line(f"{source.name}: {told}; --text-field names one"))
    for line, cells in islice(_read_rows(source, form), 1, None):
        try:
            place = f"{source.name}, line {line}"
            row = _row(place, names, cells, columns)
            yield make_document(place, {**row, TEXTS[0]: _join_cells(row, searched)} if searched else row, columns)
        except DataError as error:
            skipped.leave_out(error)


def _read_rows(source, form):
    """Yield rows that are not blank, with the line on which each ends. An unclosed quote takes all lines after it."""
    rows = csv.reader(_lines(source.path), **form)
    first = 1
    try:
        for cells in rows:
            is_mark = rows.line_num == 1 and (cells[:1] and cells[0].lower(), *cells[1:]) == NAMED_CELLS
            if any(map(str.strip, cells)) and not is_mark:
                yield rows.line_num, cells
            first = rows.line_num + 1
    except csv.Error as error:
        last = f" to {rows.line_num}" if rows.line_num > first else ""
        raise DataError(f"{source.name}, line {first}{last}: not CSV: {error}") from error


def _require_shape(names: Sequence[str], source: Source, form) -> None:
    """Raise `DataError` for a row with more cells than the header.

    Nobody can tell which text such cells belong to.
    """
    for line, cells in _read_rows(source, form):
        if any(cell.strip() for cell in cells[len(names) :]):
            raise DataError(
                f"{source.name}, line {line}: {len(cells)} cells, but the head has {len(names)}; "
                "put a text that has a separator in it in quotes"
            )


def _row(place: str, names: Sequence[str], cells: Sequence[str], columns: Columns):
    if any(map(NOT_UTF8.search, cells)):
        raise DataError(f"{place}: not UTF-8; save the file as UTF-8")
    row = dict(zip(names, [*cells, *[None] * (len(names) - len(cells))], strict=False))
    return {name: value for name, value in row.items() if name and not (name in columns.ids and not value)}


def _require_head(names: Sequence[str], source: Source, columns: Columns) -> None:
    if any(map(NOT_UTF8.search, names)):
        raise DataError(f"{source.name}, line 1: not UTF-8; save the file as UTF-8")
    if not names:
        raise DataError(f"{source.name}: no documents in it")
    if twice := [name for name, count in Counter(names).items() if count > 1 and name]:
        raise DataError(f"{source.name}, line 1: two columns are named {twice[0]!r}; give each a name of its own")
    if columns.text and not set(columns.texts) & set(names) or not _list_searched(names, columns):
        known = " or ".join(columns.texts)
        raise DataError(
            f"{source.name}, line 1: expected a column named {known}, got {', '.join(map(repr, names))}; "
            "--text-field names another"
        )


def _list_searched(names: Sequence[str], columns: Columns) -> list[str]:
    """Return the columns that a row of a table without a text is found by: all but ids, languages and addresses."""
    return [name for name in names if name and name not in (*columns.ids, *LANGUAGES, *ADDRESSES)]


def _join_cells(row, searched):
    """Return the cells with a letter, each on a line."""
    cells = (row.get(name) or "" for name in searched)
    return "\n".join(cell.strip() for cell in cells if any(map(str.isalpha, cell)))


def _is_head(cells, columns):
    return bool({cell.strip() for cell in cells} & set(columns.texts))


def _cells(line, separator):
    return next(csv.reader([line], delimiter=separator), [])


def _read_header(source):
    """Return the separator that the first line names, if any, and the header, without lines after a break in quotes."""
    lines = (line for line in _lines(source.path) if line.strip())
    first = next(lines, "")
    named = NAMED.fullmatch(first)
    return (named[1], next(lines, "")) if named else ("", first)


def _lines(path):
    # As long as a field of a database may be; 2**31 - 1 is the most on Windows.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    return iter_lines(path, newline="", errors="surrogateescape")
