"""Read `documents.jsonl`, in the form that `distill index` takes, and `questions.jsonl` about its passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from ..errors import DataError
from ..system.input_files import iter_jsonl, read_jsonl
from ..system.types import File, Json
from ..vocabulary.words.cutting import Cut, cut_text
from .dataset import Passage, Question
from .parsing import (
    IDS,
    LANGUAGES,
    TEXTS,
    first_given,
    has_title,
    is_impossible,
    parse_answer_texts,
    parse_id,
    parse_sentences,
    parse_text,
    parse_title,
    say_impossible,
)

DOCUMENTS, QUESTIONS, PASSAGES = "documents.jsonl", "questions.jsonl", "passages"
Row: TypeAlias = Mapping[str, Json]
ByLanguage: TypeAlias = dict[str, dict[str, Question]]


class _Named:
    """Passages by their own names and by those of their documents."""

    def __init__(self) -> None:
        self.passages: list[Passage] = []
        self.row_of: dict[str, int] = {}
        self.rows_of: dict[str, list[int]] = {}

    def add(self, place: str, document: str, passages: Iterator[Passage]) -> None:
        if document in self.rows_of:
            raise DataError(f"{place}: duplicate document id {document}")
        rows = self.rows_of.setdefault(document, [])
        for passage in passages:
            if passage.id in self.row_of:
                raise DataError(f"{place}: duplicate passage id {passage.id}")
            self.row_of[passage.id] = len(self.passages)
            rows.append(len(self.passages))
            self.passages.append(passage)

    def find(self, name: str, answers: tuple[str, ...], place: str) -> int:
        """Return the row of a passage by its id, or by its document's: its only one, or the first with an answer."""
        if name in self.row_of:
            return self.row_of[name]
        rows = self.rows_of.get(name, [])
        having = [row for row in rows if any(answer in self.passages[row].text for answer in answers)]
        if not rows:
            raise DataError(f"{place} names passage {name}, which {DOCUMENTS} lacks")
        if len(rows) > 1 and not having:
            raise DataError(
                f"{place} names document {name}, whose passages are {self.passages[rows[0]].id} to "
                f"{self.passages[rows[-1]].id}, and has no answer that is in one of them; name the passage"
            )
        return (having or rows)[0]


def read_lines(
    documents: Path, questions: Path, document_language: str
) -> tuple[tuple[str, ...], frozenset[int], tuple[Passage, ...], ByLanguage]:
    """Read documents and questions: titles, the numbers of documents that have none, passages and questions.

    A document is {id, title, passages: [text or {id, text}]}, or {id, title, text}, whose text is cut into passages as
    `distill index` cuts it, named ID/0, ID/1 and so on. Without an id it is named after its line. A question is {id,
    language, text, passage}; `passage` may name a document, for its only passage or the first with one of its answers.
    A passage may have "sentence_breaks" and a "language"; a question may have "answers", or one "answer", spans of its
    passage. Raises `DataError` if a line is malformed, with file and number.
    """
    titles, untitled, named = [], set(), _Named()
    for number, row in iter_jsonl(documents):
        key = first_given(row, IDS)
        document = parse_id(documents, row, key, f"line {number}") if key else f"line {number}"
        place = f"{documents}, line {number}"
        named.add(place, document, _passages(place, row, document, len(titles), document_language))
        if not has_title(row):
            untitled.add(len(titles))
        titles.append(parse_title(row, document))
    return tuple(titles), frozenset(untitled), tuple(named.passages), _questions(questions, named)


def _passages(place, row, document, number, document_language):
    language = row.get(first_given(row, LANGUAGES) or "")
    spoken = (language.strip() if isinstance(language, str) else "") or document_language
    other = "" if spoken == document_language else spoken
    if first_given(row, (PASSAGES,)) or not first_given(row, TEXTS):
        yield from _given_passages(place, row, document, number, other)
        return
    text = row[first_given(row, TEXTS)]
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{place}: expected a non-empty string under {first_given(row, TEXTS)!r}, got {text!r}")
    for i, piece in enumerate(cut_text(text, spoken, Cut())):
        yield Passage(f"{document}/{i}", text[piece.start : piece.end], number, piece.sentences, other)


def _given_passages(place, row, document, number, other):
    parts = row.get(PASSAGES)
    if not isinstance(parts, list) or not parts:
        raise DataError(f"{place}: expected a text under 'text' or a non-empty list under {PASSAGES!r}")
    for i, part in enumerate(parts):
        part = part if isinstance(part, dict) else {"text": part}
        key = first_given(part, TEXTS)
        text = part[key] if key else None
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{place}: passage {i} has an empty text")
        id = f"{document}/{i}" if part.get("id") is None else parse_id(place, part, "id", f"passage {i}")
        yield Passage(id, text, number, parse_sentences(part, text), _language(place, i, part) or other)


def _language(place, number, part):
    """Return the language that a passage names, empty for that of its document."""
    language = part.get("language")
    if language is None:
        return ""
    if not isinstance(language, str) or not language.strip():
        raise DataError(f"{place}: passage {number} has a language that is none, {language!r}; give one such as 'de'")
    return language.strip()


def _questions(path, named):
    rows = read_jsonl(path)
    answerable = [(number, row) for number, row in rows if not is_impossible(row)]
    say_impossible(path, len(rows) - len(answerable), len(rows))
    answers: dict[str, list[str]] = {}
    for number, row in answerable:
        id = parse_id(path, row, "id", f"line {number}")
        answers.setdefault(id, []).extend(_answers(path, row, f"line {number}"))
    questions: ByLanguage = {}
    for number, row in answerable:
        one = _question(path, row, f"line {number}", named, answers)
        known = questions.setdefault(one.language, {})
        if one.id in known:
            raise DataError(f"{path}, line {number}: question {one.id}: duplicate id in language {one.language}")
        known[one.id] = one
    _require_one_passage(path, questions)
    return questions


def _question(path, row, place, named, answers):
    id, language = parse_id(path, row, "id", place), parse_text(path, row, "language", place).strip()
    text, passage = parse_text(path, row, "text", place), parse_id(path, row, "passage", place)
    # Its answers in any language: translations have one passage.
    row_of_passage = named.find(passage, tuple(answers[id]), f"{path}, {place}: question {id}")
    return Question(id, language, text, row_of_passage, _answers(path, row, place))


def _require_one_passage(path, questions):
    passages = {}
    for language, known in questions.items():
        for question in known.values():
            if passages.setdefault(question.id, question.passage) != question.passage:
                raise DataError(
                    f"{path}: question {question.id} has another passage in {language} than in an earlier language"
                )


def _answers(path: File, row: Row, place: str) -> tuple[str, ...]:
    has_several = row.get("answers") is not None
    answers = parse_answer_texts(row) if has_several else [row["answer"]] if row.get("answer") else []
    if not isinstance(answers, list) or not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise DataError(f"{path}, {place}: expected a list of non-empty strings under 'answers', got {answers!r}")
    return tuple(answers)
