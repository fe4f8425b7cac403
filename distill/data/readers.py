"""From files to a `Dataset`: SQuAD v1.1-format folders, our own JSON Lines, and the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import DataError
from ..system.files import require_inside, usable_path
from ..system.reading import iter_jsonl, read_json
from ..system.types import File, Json
from .dataset import Dataset, Passage, Question

SAMPLE = Path(__file__).parent / "sample"
BREAKS = "sentence_breaks"
# The name of the data set that ships.
SHIPPED = "sample"


def find(source: File) -> Path:
    """The folder of a data set's name or path. Raises `DataError` when there is none."""
    folder = SAMPLE if str(source) == SHIPPED else usable_path(source)
    if not folder.is_dir():
        raise DataError(f"no such data set folder: {folder}; give a folder, or 'sample' for the one that ships")
    require_inside(folder, "*.json", "*.jsonl")
    return folder


def read_squad_folder(folder: Path, document_language: str) -> Dataset:
    """`{lang}.json` files in SQuAD v1.1 format that share question ids; documents come from one language's file."""
    files = {path.stem: path for path in sorted(folder.glob("*.json")) if path.stem != "splits"}
    if document_language not in files:
        names = ", ".join(files) or "no language file at all"
        raise DataError(
            f"{folder}: no {document_language}.json with the documents; found {names}. "
            "Use --document-language, or documents.jsonl and questions.jsonl"
        )
    main = files[document_language]
    articles = {language: articles_of(path) for language, path in files.items()}
    titles, passages = [], []
    for document, article in enumerate(articles[document_language]):
        titles.append(str(article.get("title", f"document {document}")))
        paragraphs = list_of(main, article, "paragraphs")
        if not paragraphs:
            raise DataError(f"{main}, article {document}: expected a non-empty list under 'paragraphs'")
        for number, paragraph in enumerate(paragraphs):
            text = text_of(main, paragraph, "context", f"article {document}, paragraph {number}")
            passages.append(Passage(f"{document}-{number}", text, document, sentences_of(paragraph, text)))
    places = _squad_places(main, articles[document_language])
    questions = {
        language: _squad_questions(path, articles[language], language, places, main) for language, path in files.items()
    }
    return Dataset(_name(folder), document_language, tuple(titles), tuple(passages), questions)


def _squad_places(path, articles):
    """`{question id: (passage index, answers)}` of the file that holds the documents."""
    return {
        str(qa.get("id")): (index, squad_answers(qa))
        for index, paragraph in enumerate(paragraphs_of(path, articles))
        for qa in list_of(path, paragraph, "qas")
    }


def squad_answers(qa: Mapping[str, Json]) -> tuple[str, ...]:
    """The distinct texts of a question's answers, as many as it has: they are not needed for training."""
    answers = qa.get("answers")
    texts = [answer.get("text") for answer in answers if isinstance(answer, dict)] if isinstance(answers, list) else []
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip()))


def _squad_questions(path, articles, language, places, main):
    questions = {}
    for article in articles:
        for paragraph in list_of(path, article, "paragraphs"):
            for qa in list_of(path, paragraph, "qas"):
                id = text_of(path, qa, "id", f"article {article.get('title')!r}")
                text = text_of(path, qa, "question", f"question {id}")
                if id not in places:
                    raise DataError(f"{path}: question {id} has no passage: the id is not in {main.name}")
                _add(questions, Question(id, language, text, *places[id]), f"{path}: question {id}")
    return questions


def articles_of(path: File) -> list[dict[str, Json]]:
    """The articles of a SQuAD v1.1 file. Raises `DataError`."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected a SQuAD v1.1 object with 'data', got {type(value).__name__}")
    return list_of(path, value, "data")


def paragraphs_of(path: File, articles: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """The paragraphs of all articles, in order."""
    return [paragraph for article in articles for paragraph in list_of(path, article, "paragraphs")]


def list_of(path: File, value: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    """The list of objects under a key of a SQuAD v1.1 object. Raises `DataError`."""
    items = value.get(key) if isinstance(value, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{path}: expected SQuAD v1.1 format, a list of objects under {key!r}")
    return items


def sentences_of(value: Mapping[str, Json], text: str) -> tuple[tuple[int, int], ...]:
    """The boundaries that a paragraph gives; none where they are wrong, which LAReQA alone refuses."""
    try:
        return tuple(breaks_of(value, text, "")) if BREAKS in value else ()
    except DataError:
        return ()


def breaks_of(value: Mapping[str, Json], text: str, place: str) -> list[tuple[int, int]]:
    """A paragraph's sentences as `[(start, end)]`. Raises `DataError` unless ascending, within it and not blank."""
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


def read_jsonl_folder(folder: Path, document_language: str) -> Dataset:
    """`documents.jsonl` {id, title, passages: [text or {id, text}]}; `questions.jsonl` {id, language, text, passage}

    A passage may have "sentence_breaks" and a "language", a question "answers", or one "answer", spans of its passage.
    """
    path = folder / "documents.jsonl"
    titles, passages, index = [], [], {}
    seen = set()
    for number, row in iter_jsonl(path):
        place = f"{path}, line {number}"
        document = text_of(path, row, "id", f"line {number}")
        if document in seen:
            raise DataError(f"{place}: duplicate document id {document}")
        seen.add(document)
        for passage in _passages(place, row, document, len(titles)):
            if passage.id in index:
                raise DataError(f"{place}: duplicate passage id {passage.id}")
            index[passage.id] = len(passages)
            passages.append(passage)
        titles.append(str(row.get("title", document)))
    questions = _jsonl_questions(folder / "questions.jsonl", index)
    if document_language not in questions:
        raise DataError(
            f"{folder}: no questions in the documents' language {document_language}; "
            f"found {', '.join(questions) or 'none'}"
        )
    return Dataset(_name(folder), document_language, tuple(titles), tuple(passages), questions)


def _passages(place, row, document, number):
    parts = row.get("passages")
    if not isinstance(parts, list) or not parts:
        raise DataError(f"{place}: expected a non-empty list under 'passages'")
    for i, part in enumerate(parts):
        part = part if isinstance(part, dict) else {"text": part}
        text = part.get("text")
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{place}: passage {i} has an empty text")
        language = _language(place, i, part)
        yield Passage(str(part.get("id", f"{document}/{i}")), text, number, sentences_of(part, text), language)


def _language(place, number, part):
    """The language that a passage names, empty for that of the documents."""
    language = part.get("language", "")
    if not isinstance(language, str) or (not language.strip() and "language" in part):
        raise DataError(f"{place}: passage {number} has a language that is none, {language!r}; give one such as 'de'")
    return language


def _jsonl_questions(path, index):
    questions = {}
    for number, row in iter_jsonl(path):
        place = f"line {number}"
        id, language = text_of(path, row, "id", place), text_of(path, row, "language", place)
        text, passage = text_of(path, row, "text", place), text_of(path, row, "passage", place)
        if passage not in index:
            raise DataError(f"{path}, {place}: question {id} names passage {passage}, which documents.jsonl lacks")
        question = Question(id, language, text, index[passage], _answers(path, row, place))
        _add(questions.setdefault(language, {}), question, f"{path}, {place}: question {id}")
    passages = {}
    for language, known in questions.items():
        for question in known.values():
            if passages.setdefault(question.id, question.passage) != question.passage:
                raise DataError(
                    f"{path}: question {question.id} has another passage in {language} than in an earlier language"
                )
    return questions


def _answers(path, row, place):
    answers = row.get("answers", [row["answer"]] if row.get("answer") else [])
    if not isinstance(answers, list) or not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise DataError(f"{path}, {place}: expected a list of non-empty strings under 'answers', got {answers!r}")
    return tuple(answers)


def _add(questions, question, place):
    if question.id in questions:
        raise DataError(f"{place}: duplicate id in language {question.language}")
    questions[question.id] = question


def text_of(path: File, row: Mapping[str, Json], key: str, place: str) -> str:
    """The text under a key of an object. Raises `DataError`, with file and place, where it is none or blank."""
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{path}, {place}: expected a non-empty string under {key!r}, got {value!r}")
    return value


def _name(folder):
    return SHIPPED if folder == SAMPLE else folder.resolve().name
