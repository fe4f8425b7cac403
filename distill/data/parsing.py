"""Parse the forms of people's files: fields of records, tables of languages or names, and SQuAD's objects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import DataError
from ..system.files import list_visible, require_inside
from ..system.input_files import read_json, read_text
from ..system.progress import say
from ..system.types import File, Json

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
    return str(row["title"]) if has_title(row) else default


def has_title(row: Mapping[str, Json]) -> bool:
    return row.get("title") is not None


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


# Of a question of SQuAD 2.0: its paragraph does not answer it.
IMPOSSIBLE = "is_impossible"
BREAKS = "sentence_breaks"


def parse_articles(path: File) -> list[dict[str, Json]]:
    """Return the articles of a SQuAD file. Raises `DataError`."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected a SQuAD object with 'data', got {type(value).__name__}")
    return parse_list(path, value, "data")


def parse_paragraphs(path: File, articles: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Return the paragraphs of all articles, in order."""
    return [paragraph for article in articles for paragraph in parse_list(path, article, "paragraphs")]


def parse_questions(path: File, paragraph: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the questions that a paragraph answers. Raises `DataError` if one is malformed."""
    return [qa for qa in parse_list(path, paragraph, "qas") if not is_impossible(qa)]


def is_impossible(qa: Mapping[str, Json]) -> bool:
    """Return whether a question is marked, or by an empty list of texts shown, as not answered by its paragraph."""
    answers = qa.get("answers")
    marked = str(qa.get(IMPOSSIBLE)).strip().casefold() in ("true", "1", "yes")
    return marked or (isinstance(answers, dict) and answers.get("text") == [])


def find_impossible(path: File, articles: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the ids of the questions that are not answered by their paragraphs."""
    qas = (qa for paragraph in parse_paragraphs(path, articles) for qa in parse_list(path, paragraph, "qas"))
    return [str(qa.get("id")) for qa in qas if is_impossible(qa)]


def say_impossible(source: File, left: int, total: int) -> None:
    """Print how many questions of a source were left out, if any."""
    if left:
        say(f"{source}: {left:,} of {total:,} questions left out: no passage answers them ({IMPOSSIBLE!r})")


def parse_list(path: File, value: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    """Return the list of objects under a key of a SQuAD object. Raises `DataError` if it is something else."""
    items = value.get(key) if isinstance(value, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{path}: expected SQuAD format, a list of objects under {key!r}")
    return items


def parse_sentences(value: Mapping[str, Json], text: str) -> tuple[tuple[int, int], ...]:
    """Return the boundaries of a paragraph, empty if they are malformed, which only LAReQA refuses."""
    try:
        return tuple(parse_breaks(value, text, "")) if BREAKS in value else ()
    except DataError:
        return ()


def parse_breaks(value: Mapping[str, Json], text: str, place: str) -> list[tuple[int, int]]:
    """Return the boundaries of a paragraph, `(start, end)`."""
    breaks = value.get(BREAKS)
    if not isinstance(breaks, list) or not breaks:
        raise DataError(f"{place}: expected [[start, end], …] under {BREAKS!r}, got {breaks!r}")
    last = 0
    for pair in breaks:
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair)):
            raise DataError(f"{place}: expected [[start, end], …] under {BREAKS!r}, got {pair!r}")
        start, end = pair
        if not last <= start < end <= len(text):
            raise DataError(
                f"{place}: the sentence {pair} is empty, before the end of the one before it, "
                f"or beyond its paragraph of {len(text)} characters"
            )
        if not text[start:end].strip():
            raise DataError(f"{place}: the sentence {pair} is blank")
        last = end
    return [tuple(pair) for pair in breaks]
