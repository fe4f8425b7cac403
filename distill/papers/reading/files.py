"""Training data of readers from files: SQuAD v1.1-format folders, and passages in files beside their questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from ...data.dataset import Dataset
from ...data.loading import read_dataset
from ...data.parallel import parse_weight
from ...data.parsing import (
    as_id,
    is_impossible,
    parse_answers,
    parse_articles,
    parse_id,
    parse_list,
    parse_paragraphs,
    parse_questions,
    parse_text,
)
from ...data.readers import find
from ...errors import DataError
from ...settings.choices import EVERY
from ...system.files import usable_path
from ...system.input_files import read_jsonl
from ...system.progress import say
from ...system.types import File, Json
from .examples import Example, Span, Text, passage_texts


def find_place_at(passage: str, answer: str, start: int) -> Span | None:
    """Return the place of an answer that begins at a given character.

    Runs of blanks count as one and blanks at the ends do not count, as some data sets have them in only one of the two
    texts. Returns `(start, end)` in characters; None if another text is there.
    """
    pattern = _pattern(answer)
    match = pattern.match(passage, start) if pattern and 0 <= start < len(passage) else None
    return match.span(1) if match else None


def find_only_place(passage: str, answer: str) -> Span | None:
    """Return the place of an answer that occurs exactly once in its passage.

    Returns `(start, end)` in characters; None if it occurs nowhere or more than once.
    """
    pattern = _pattern(answer)
    places = [match.span(1) for match in pattern.finditer(passage)] if pattern else []
    return places[0] if len(places) == 1 else None


def is_inside(passage: str, answer: str) -> bool:
    """Return True if the text of an answer occurs in its passage."""
    pattern = _pattern(answer)
    return bool(pattern and pattern.search(passage))


def _pattern(answer):
    words = r"\s+".join(map(re.escape, answer.split()))
    return re.compile(rf"\s*({words})") if words else None


# The split that is learned from by default.
TRAIN = "train"
PASSAGES, QUESTIONS = "passages", "questions"
# {id by which questions refer to a passage: passage}.
Passages: TypeAlias = dict[str, Text]


@dataclass(frozen=True)
class ReaderSource:
    """A folder of questions with passages.

    Attributes:
        folder: The folder.
        split: The split that is learned from.
        weight: How often each question is used per epoch.

    Example:
        >>> import distill
        >>> distill.ReaderSource("my-data", weight=0.5).split
        'train'
    """

    folder: File
    split: str = TRAIN
    weight: float = 1.0

    @classmethod
    def of(cls, text: str) -> ReaderSource:
        """Return the source that `[SPLIT:]FOLDER[=WEIGHT]` names. Raises `InputError` if it cannot be parsed."""
        path, weight = parse_weight(text)
        split, colon, folder = str(path).partition(":")
        if not colon or usable_path(path).exists():
            return cls(path, TRAIN, weight)
        return cls(folder, split, weight)


def read_source(source: ReaderSource, document_language: str = "en") -> list[Example]:
    """Read the examples of a folder or of any data set, each with the place of its answer.

    A folder may hold SQuAD-format `{lang}.json` files. Questions of all languages are then read on the passages in
    `document_language`, and those of each language on its own passages too. Else it holds `passages.{lang}.jsonl` with
    {pid, context}, and `questions.{split}.{lang}.jsonl` or `questions.{lang}.jsonl` with {pid, question, answers,
    answer_start}.

    Without `answer_start`, or if another text is at that place, an answer is used that occurs in the passage exactly
    once. A message counts the questions that are left out. Answers of other data sets have no places and are found in
    the same way. Raises `DataError` if an answer with a place does not occur in its passage, or no answer is left; the
    message names file and place.
    """
    folder = find(source.folder)
    read = _read_squad if (folder / f"{document_language}.json").is_file() else _read_set
    examples = (_read_apart if any(folder.glob(f"{PASSAGES}.*.jsonl")) else read)(
        folder, source.split, document_language
    )
    if not examples:
        raise DataError(f"{folder}: no question with an answer in its passage; give a folder of questions with answers")
    return examples


def _read_squad(folder: Path, split: str, document_language: str) -> list[Example]:
    dataset = read_dataset(folder, document_language)
    ids = _ids(dataset, split)
    by_language = {language: _squad_examples(folder / f"{language}.json", language) for language in dataset.languages}
    main = {example.id: example for example in by_language[document_language]}
    of_documents = [
        replace(main[example.id], language=language, question=example.question)
        for language, examples in by_language.items()
        for example in examples
        if language != document_language and example.id in main
    ]
    return [example for part in (*by_language.values(), of_documents) for example in part if example.id in ids]


def _read_set(folder: Path, split: str, document_language: str) -> list[Example]:
    dataset = read_dataset(folder, document_language)
    ids, passages = _ids(dataset, split), passage_texts(dataset)
    questions = [one for of in dataset.questions.values() for one in of.values() if one.id in ids and one.answers]
    where = f"{folder}, question "
    placed = (
        _place_answer(
            one.id, one.text, passages[one.passage], [(answer, None) for answer in one.answers], where + one.id
        )
        for one in questions
    )
    examples = [
        replace(example, language=one.language) for one, example in zip(questions, placed, strict=True) if example
    ]
    _say_left(folder, len(questions), len(examples))
    return examples


def _ids(dataset: Dataset, split: str) -> set[str]:
    if split == EVERY:
        return {id for questions in dataset.questions.values() for id in questions}
    if split not in dataset.splits:
        raise DataError(f"{dataset.name}: no split {split}; it has {', '.join(dataset.splits)}, or use {EVERY}")
    return set(dataset.splits[split])


def _squad_examples(path: Path, language: str) -> list[Example]:
    examples = []
    for number, paragraph in enumerate(parse_paragraphs(path, parse_articles(path))):
        passage = Text(parse_text(path, paragraph, "context", f"paragraph {number}"), language)
        for qa in parse_questions(path, paragraph):
            id, question = (
                parse_id(path, qa, "id", f"paragraph {number}"),
                parse_text(path, qa, "question", "a question"),
            )
            given = parse_list(path, {"answers": parse_answers(qa)}, "answers")
            answers = [(answer.get("text"), answer.get("answer_start")) for answer in given]
            examples.append(_place_answer(id, question, passage, answers, f"{path}, question {id}"))
    return [example for example in examples if example]


def _read_apart(folder: Path, split: str, document_language: str) -> list[Example]:
    examples = []
    for path in sorted(folder.glob(f"{PASSAGES}.*.jsonl")):
        language = path.name.split(".")[1]
        passages = _passages(path, language)
        for questions in _question_files(folder, split, language):
            examples += _apart_examples(questions, path, passages, language)
    return examples


def _question_files(folder: Path, split: str, language: str) -> list[Path]:
    """Return the files of a split, or all for `all`; a file that names no split belongs to every one."""
    named = sorted(folder.glob(f"{QUESTIONS}.*.{language}.jsonl"))
    chosen = [path for path in named if split in (EVERY, path.name.split(".")[1])]
    plain = folder / f"{QUESTIONS}.{language}.jsonl"
    return [*chosen, *([plain] if plain.is_file() else [])]


def _passages(path: Path, language: str) -> Passages:
    rows = {
        parse_id(path, row, "pid", f"line {number}"): parse_text(path, row, "context", f"line {number}")
        for number, row in read_jsonl(path)
    }
    if not rows:
        raise DataError(f'{path}: the file has no passages; expected {{"pid", "context"}} lines')
    return {id: Text(text, language) for id, text in rows.items()}


def _apart_examples(path: Path, beside: Path, passages: Passages, language: str) -> list[Example]:
    rows = read_jsonl(path)
    if not rows:
        raise DataError(f'{path}: the file has no questions; expected {{"id", "pid", "question", "answers"}} lines')
    examples = [example for number, row in rows for example in _apart(path, number, row, beside, passages)]
    _say_left(path, len(rows), len(examples))
    return examples


def _say_left(path: Path, questions: int, taken: int) -> None:
    if left := questions - taken:
        say(f"{path}: {left:,} of {questions:,} questions left out, as their answer does not occur exactly once")


def _apart(path: Path, number: int, row: Json, beside: Path, passages: Passages) -> Iterator[Example]:
    where = f"{path}, line {number}"
    if is_impossible(row):
        return
    passage = passages.get(as_id(row.get("pid")) or "")
    if passage is None:
        raise DataError(
            f"{where}: passage {row.get('pid')!r} is not in {beside.name}; the files belong to different corpora"
        )
    texts, starts = _texts_and_starts(row)
    if not isinstance(texts, list) or not isinstance(starts or texts, list):
        raise DataError(f"{where}: expected a list of texts under 'answers', got {texts!r}")
    answers = list(zip(texts, starts or [None] * len(texts), strict=False))
    id = f"line {number}" if row.get("id") is None else parse_id(path, row, "id", f"line {number}")
    example = _place_answer(id, parse_text(path, row, "question", f"line {number}"), passage, answers, where)
    yield from [example] if example else []


def _texts_and_starts(row):
    """Return answers and starts from Hugging Face's object of answers, or from `answers` and `answer_start`."""
    if not isinstance(row.get("answers"), dict):
        return row.get("answers"), row.get("answer_start")
    answers = parse_answers(row)
    if not isinstance(answers, list):
        return None, None
    return [one["text"] for one in answers], [one.get("answer_start") for one in answers]


def _place_answer(
    id: str, question: str, passage: Text, answers: Sequence[tuple[Json, Json]], where: str
) -> Example | None:
    """Return the example with the first answer that has a place: the given one, else the only one in the passage.

    Raises `DataError` if a place is given for an answer that does not occur in the passage.
    """
    texts = [(text, start) for text, start in answers if isinstance(text, str) and text.strip()]
    by_start = [find_place_at(passage.text, text, start) for text, start in texts if isinstance(start, int)]
    places = [place for place in (*by_start, *(find_only_place(passage.text, text) for text, _ in texts)) if place]
    if by_start and not any(is_inside(passage.text, text) for text, _ in texts):
        raise DataError(
            f"{where}: the answer {texts[0][0]!r} is not in its passage; correct it, or remove 'answer_start' from the "
            "question to leave the question out"
        )
    if not places:
        return None
    return Example(id, passage.language, question, passage, places[0], tuple(text for text, _ in texts))
