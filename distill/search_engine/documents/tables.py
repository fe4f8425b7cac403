"""Read documents from tables, one per row: CSV with the separator of its header, or tab-separated values."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from ...data.parsing import LANGUAGES, TEXTS
from ...errors import DataError, one_line
from ...system.input_files import NOT_UTF8, iter_lines
from ...system.progress import say
from .document import Document, Source
from .limits import Meter, SkippedFiles
from .records import Columns, make_document

SEPARATORS = (",", ";", "\t", "|")
# The bytes that `csv.reader` takes for a character of a cell.
BYTES = 4
# Arguments of `csv.reader`.
Form: TypeAlias = Mapping[str, str | bool | int]
# Columns of where a row is from.
ADDRESSES = ("url", "path")
# The first line of a table whose separator Excel is told, and its cells.
NAMED, NAMED_CELLS = re.compile(r"sep=(.)\s*", re.IGNORECASE), ("sep=", "")


def read_csv(source: Source, columns: Columns, skipped: SkippedFiles, meter: Meter) -> Iterator[Document]:
    """Yield the documents of a CSV file, without malformed rows; `DataError` for a table of no consistent shape."""
    named, head = _read_header(source, meter)
    separator = named or max(SEPARATORS, key=lambda one: (_is_head(_cells(head, one), columns), len(_cells(head, one))))
    # Where a blank follows each separator it belongs to none of the cells.
    spaced = all(cell.startswith(" ") for cell in head.split(separator)[1:]) and separator in head
    form: Form = {"delimiter": separator, "skipinitialspace": spaced, "strict": True}
    yield from _rows(_Table(source, meter, form), columns, skipped)


def read_tsv(source: Source, columns: Columns, skipped: SkippedFiles, meter: Meter) -> Iterator[Document]:
    """Yield the documents of tab-separated values, quoted if the whole file is, as spreadsheets write it."""
    form: Form = {"delimiter": "\t", "strict": True}
    if not _is_quoted(_Table(source, meter, form)):
        form = {**form, "quoting": csv.QUOTE_NONE}
    yield from _rows(_Table(source, meter, form), columns, skipped)


@dataclass(frozen=True)
class _Table:
    """A file, what counts its rows as they are read, and its form, as `csv.reader` takes it."""

    source: Source
    meter: Meter
    form: Form

    def read(self, **more):
        """Yield rows, with the line on which each ends. An unclosed quote takes all lines after it."""
        rows, first = csv.reader(_lines(self.source.path, self.meter), **{**self.form, **more}), 1
        try:
            for cells in rows:
                self.meter.begin()
                yield rows.line_num, cells
                first = rows.line_num + 1
        except csv.Error as error:
            last = f" to {rows.line_num}" if rows.line_num > first else ""
            raise DataError(f"{self.source.name}, line {first}{last}: not CSV: {error}") from error


def _is_quoted(table: _Table) -> bool:
    """Return whether quotes belong to the format and not to the text: each row then has as many cells as the header.

    Rows that fit without quotes too, and are fewer with them, begin and end with quotes of their own.
    """
    try:
        quoted = Counter(len(row) for _, row in table.read() if row)
    # A quote that belongs to the text takes all that follows it, which may be more than a document has.
    except DataError:
        table.meter.begin()
        return False
    if len(quoted) > 1:
        return False
    plain = Counter(len(row) for _, row in table.read(quoting=csv.QUOTE_NONE) if row)
    return quoted == plain or len(plain) > 1 or 1 in quoted


def _rows(table, columns, skipped):
    source = table.source
    names = [name.strip() for name in next(_read_rows(table), (0, []))[1]]
    while names and not names[-1]:
        # A column without a name holds what a separator in a text cut off.
        names.pop()
    _require_head(names, source, columns)
    _require_shape(names, table)
    searched = [] if set(columns.texts) & set(names) else _list_searched(names, columns)
    if searched:
        note = f"no column {' or '.join(columns.texts)}, so it is searched by {', '.join(searched)}"
        say(one_line(f"{source.name}: {note}; --text-field names one"))
    for line, cells in islice(_read_rows(table), 1, None):
        try:
            place = f"{source.name}, line {line}"
            row = _row(place, names, cells, columns)
            yield make_document(place, {**row, TEXTS[0]: _join_cells(row, searched)} if searched else row, columns)
        except DataError as error:
            skipped.leave_out(error)


def _read_rows(table):
    """Yield rows that are not blank, with the line on which each ends."""
    for line, cells in table.read():
        is_mark = line == 1 and (cells[:1] and cells[0].lower(), *cells[1:]) == NAMED_CELLS
        if any(map(str.strip, cells)) and not is_mark:
            yield line, cells


def _require_shape(names: Sequence[str], table: _Table) -> None:
    """Raise `DataError` for a row with more cells than the header. Nobody can tell which text such cells belong to."""
    for line, cells in _read_rows(table):
        if any(cell.strip() for cell in cells[len(names) :]):
            raise DataError(
                f"{table.source.name}, line {line}: {len(cells)} cells, but the head has {len(names)}; "
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
            f"{columns.advice}"
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


def _read_header(source, meter):
    """Return the separator that the first line names, if any, and the header, without lines after a break in quotes."""
    lines = (line for line in _lines(source.path, meter) if line.strip())
    first = next(lines, "")
    named = NAMED.fullmatch(first)
    return (named[1], next(lines, "")) if named else ("", first)


def _lines(path, meter):
    # As long as a field of a database may be; 2**31 - 1 is the most on Windows.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    return iter_lines(path, newline="", errors="surrogateescape", count=lambda size: meter.count(BYTES * size))
