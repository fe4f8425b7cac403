"""Parse tables whose columns are languages or names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import DataError
from ...system.files import list_visible, require_inside
from ...system.input_files import read_text
from ...system.types import File

# A column of numbers and hardly ever Indonesian: a language only where it is named.
NUMBERED = "id"
# Columns of a table that are languages where none are named: codes as FLORES and NTREX write them.
CODE = re.compile(r"[a-z]{2}([-_][A-Za-z]{2,4})?|[a-z]{3}[-_][A-Z][a-z]{3}")
# A cell as spreadsheets and pandas write one with a quotation mark in it: within quotation marks, its own doubled.
QUOTED = re.compile(r'"(?:[^"]|"")*"')


def read_columns(path: Path, named: Sequence[str] = ()) -> dict[str, list[str]]:
    """Read the lines of a folder of `{lang}.txt`, or the columns of a .tsv, by default those with a language code."""
    return _from_files(path) if path.is_dir() else read_table(path, named)


def _from_files(folder):
    require_inside(folder, "*.txt")
    return {path.stem: _lines(path) for path in list_visible(folder, "*.txt")}


def read_table(path: File, named: Sequence[str]) -> dict[str, list[str]]:
    """Read the cells of a .tsv.

    A cell in quotation marks, with its own ones doubled, is taken without them; any other is taken as it is. Blank
    lines at the end are ignored.
    """
    lines = _lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    head, *rows = [[_plain(cell) for cell in line.split("\t")] for line in lines] or [[]]
    head = [name.strip() for name in head]
    if twice := [name for name in dict.fromkeys(head) if head.count(name) > 1]:
        raise DataError(f"{path}: the column {twice[0]} is there twice; name each once")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise DataError(f"{path}, line {number}: expected {len(head)} columns as in the first line, got {len(row)}")
    kept = [place for place, name in enumerate(head) if name in named or (CODE.fullmatch(name) and name != NUMBERED)]
    return {head[place]: [row[place] for row in rows] for place in kept}


def _plain(cell):
    return cell[1:-1].replace('""', '"') if QUOTED.fullmatch(cell) else cell


def _lines(path):
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines
