"""Questions with passages out of a file of lines, and their answers into one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..data.readers import text_of
from ..errors import DataError
from ..system.files import write_text
from ..system.reading import read_jsonl
from ..system.types import File, Json
from .examples import Example, Text
from .reader import Answer

LANGUAGE = "en"


def read_questions(path: File) -> list[Example]:
    """Return the examples of {"id", "question", "passage"} lines. Raises `DataError` naming the line."""
    rows = read_jsonl(path)
    if not rows:
        raise DataError(f'{path}: no questions in it; expected {{"id", "question", "passage"}} lines')
    return [_example(path, number, row) for number, row in rows]


def _example(path: File, number: int, row: dict[str, Json]) -> Example:
    place = f"line {number}"
    language, of_passage = (
        LANGUAGE if row.get(key) is None else text_of(path, row, key, place) for key in ("language", "passage_language")
    )
    passage = Text(text_of(path, row, "passage", place), of_passage)
    answers = row.get("answers")
    golds = tuple(map(str, answers)) if isinstance(answers, list) else ()
    return Example(str(row.get("id", number)), language, text_of(path, row, "question", place), passage, None, golds)


def write_answers(path: File, examples: Sequence[Example], answers: Sequence[Answer]) -> None:
    """Write a line {"id", "language", "prediction", "start", "end", "score"} a question, with its gold "answers"."""
    rows = [
        {
            "id": example.id,
            "language": example.language,
            "prediction": answer.text,
            "start": answer.place[0],
            "end": answer.place[1],
            "score": round(answer.score, 4),
            **({"answers": list(example.answers)} if example.answers else {}),
        }
        for example, answer in zip(examples, answers, strict=True)
    ]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
