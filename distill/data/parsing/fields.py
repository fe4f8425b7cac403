"""Parse the fields of a record: texts, ids, titles, languages and answers; and tables of languages or names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import DataError
from ...system.files import list_visible, require_inside
from ...system.input_files import read_text
from ...system.types import File, Json

# The first of these that a record has; a passage's own text is under one of TEXTS too.
IDS, TEXTS, LANGUAGES = ("id", "_id", "pid"), ("text", "context", "passage"), ("language", "lang")


def parse_text(path: File, row: Mapping[str, Json], key: str, place: str) -> str:
    """Return the text under a key. Raises `DataError` if there is no text, or only blanks."""
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{path}, {place}: expected a non-empty string under {key!r}, got {value!r}")
    return value


def parse_id(path: File, row: Mapping[str, Json], key: str, place: str) -> str:
    """Return the id under a key. Raises `DataError` if `as_id` accepts none."""
    id = as_id(row.get(key))
    if id is None:
        raise DataError(f"{path}, {place}: expected a string or a whole number under {key!r}, got {row.get(key)!r}")
    return id


def as_id(value: Json) -> str | None:
    """Return a text that is not blank, or a whole number as its digits; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def first_given(row: Mapping[str, Json], keys: Sequence[str]) -> str | None:
    """Return the first of some keys under which an object has a value other than null, or None."""
    return next((key for key in keys if row.get(key) is not None), None)


def parse_title(row: Mapping[str, Json], default: str) -> str:
    """Return the title of an object, or the default if it has none."""
    title = row.get("title")
    return default if title is None else str(title)


def parse_answers(row: Mapping[str, Json]) -> Json:
    """Return the answers of a question as SQuAD lists them, also from Hugging Face's object of two lists."""
    answers = row.get("answers")
    texts = answers.get("text") if isinstance(answers, dict) else None
    starts = answers.get("answer_start") if isinstance(answers, dict) else None
    texts, starts = ([value] if isinstance(value, str | int) else value for value in (texts, starts))
    if not isinstance(texts, list):
        return answers
    if not starts:
        return [{"text": text} for text in texts]
    if not isinstance(starts, list) or len(starts) != len(texts):
        return answers
    return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]


def parse_answer_texts(row: Mapping[str, Json]) -> Json:
    """Return the texts of a question's answers, in a form of `parse_answers` or as a list of texts."""
    answers = parse_answers(row)
    if not isinstance(answers, list):
        return answers
    return [answer.get("text") if isinstance(answer, dict) else answer for answer in answers]


def parse_distinct_answers(path: File, row: Mapping[str, Json], place: str) -> tuple[str, ...]:
    """Return the distinct texts of a question's "answers" or "answer", numbers as digits, without blank ones."""
    given = row.get("answers") if row.get("answers") is not None else row.get("answer")
    texts = parse_answer_texts({"answers": [given] if isinstance(given, str | int) else given})
    texts = [] if texts is None else [texts.get("text", texts)] if isinstance(texts, dict) else texts
    if not isinstance(texts, list) or not all(text is None or _is_text(text) for text in texts):
        raise DataError(f'{path}, {place}: expected answers such as ["…"] or [{{"text": "…"}}], got {given!r}')
    return tuple(dict.fromkeys(str(text) for text in texts if text is not None and str(text).strip()))


def _is_text(value):
    return isinstance(value, str | int) and not isinstance(value, bool)


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
