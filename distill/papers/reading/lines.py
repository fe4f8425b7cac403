"""Questions with passages from a file of lines, and their answers to another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ...data.parsing import parse_distinct_answers, parse_id, parse_text
from ...errors import DataError
from ...system.files import write_text
from ...system.input_files import read_jsonl
from ...system.types import File, Json
from .examples import Example, Text
from .reader import Answer

LANGUAGE = "en"


@dataclass(frozen=True)
class Question:
    """A question without a passage. `answers` are its gold answers, if the line has some."""

    id: str
    language: str
    text: str
    answers: tuple[str, ...]


def read_questions(path: File) -> list[Example]:
    """Read the examples of {"id", "question", "passage"} lines. Raises `DataError` naming a wrong line."""
    return [_example(path, number, row) for number, row in _rows(path, '"id", "question", "passage"')]


def read_bare_questions(path: File) -> list[Question]:
    """Read the questions of {"id", "question"} lines. Raises `DataError` naming a wrong line."""
    return [_question(path, number, row) for number, row in _rows(path, '"id", "question"')]


def _rows(path, keys):
    rows = read_jsonl(path)
    if not rows:
        raise DataError(f"{path}: the file has no questions; expected {{{keys}}} lines")
    return rows


def _question(path: File, number: int, row: dict[str, Json]) -> Question:
    text = parse_text(path, row, "question", f"line {number}")
    id = str(number) if row.get("id") is None else parse_id(path, row, "id", f"line {number}")
    golds = parse_distinct_answers(path, row, f"line {number}")
    return Question(id, _language(path, number, row, "language"), text, golds)


def _language(path, number, row, key):
    return LANGUAGE if row.get(key) is None else parse_text(path, row, key, f"line {number}")


def _example(path: File, number: int, row: dict[str, Json]) -> Example:
    one = _question(path, number, row)
    of_passage = _language(path, number, row, "passage_language")
    passage = Text(parse_text(path, row, "passage", f"line {number}"), of_passage)
    return Example(one.id, one.language, one.text, passage, None, one.answers)


def write_predictions(path: File, questions: Sequence[Question], predictions: Sequence[str]) -> None:
    """Write one line {"id", "language", "prediction"} per question, with its gold "answers"."""
    rows = [
        {"id": one.id, "language": one.language, "prediction": prediction, **_format_answers(one.answers)}
        for one, prediction in zip(questions, predictions, strict=True)
    ]
    _write(path, rows)


def write_answers(path: File, examples: Sequence[Example], answers: Sequence[Answer]) -> None:
    """Write a line {"id", "language", "prediction", "start", "end", "score"} per question, with its "answers"."""
    rows = [
        {
            "id": example.id,
            "language": example.language,
            "prediction": answer.text,
            "start": answer.place[0],
            "end": answer.place[1],
            "score": round(answer.score, 4),
            **_format_answers(example.answers),
        }
        for example, answer in zip(examples, answers, strict=True)
    ]
    _write(path, rows)


def _format_answers(answers):
    return {"answers": list(answers)} if answers else {}


def _write(path, rows):
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
