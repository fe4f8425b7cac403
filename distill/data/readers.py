"""From files to a `Dataset`: SQuAD-format folders, our own JSON Lines, and the sample."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError
from ..system.files import list_visible, require_inside, usable_path
from ..system.types import File
from .dataset import Dataset, Passage, Question
from .json_lines import DOCUMENTS, QUESTIONS, read_lines
from .parsing import (
    find_impossible,
    has_title,
    parse_articles,
    parse_distinct_answers,
    parse_id,
    parse_list,
    parse_paragraphs,
    parse_questions,
    parse_sentences,
    parse_text,
    parse_title,
    say_impossible,
)

SAMPLE = Path(__file__).parent / "sample"
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
    """`{lang}.json` files in SQuAD format that share question ids; documents come from one language's file.

    Questions that the documents' paragraphs do not answer, as SQuAD 2.0 has them, are left out, and how many is said.
    """
    files = {path.stem: path for path in list_visible(folder, "*.json") if path.stem != "splits"}
    if not files:
        raise DataError(
            f"{folder}: no data set in it; expected {DOCUMENTS} and {QUESTIONS}, or SQuAD files such as "
            f"{document_language}.json. For other files run: distill init NEW --documents FILE --questions FILE"
        )
    if document_language not in files:
        raise DataError(
            f"{folder}: no {document_language}.json with the documents; found {', '.join(files)}. "
            "Use --document-language"
        )
    main = files[document_language]
    articles = {language: parse_articles(path) for language, path in files.items()}
    titles, passages = _documents(main, articles[document_language])
    untitled = frozenset(number for number, one in enumerate(articles[document_language]) if not has_title(one))
    places = _squad_places(main, articles[document_language])
    left = set(find_impossible(main, articles[document_language]))
    questions = {
        language: _squad_questions(path, articles[language], language, places, (main, left))
        for language, path in files.items()
    }
    _say_left(folder, files, articles, questions)
    return Dataset(_name(folder), document_language, titles, passages, questions, untitled=untitled)


def _documents(main, articles):
    titles, passages = [], []
    for document, article in enumerate(articles):
        titles.append(parse_title(article, f"document {document}"))
        paragraphs = parse_list(main, article, "paragraphs")
        if not paragraphs:
            raise DataError(f"{main}, article {document}: expected a non-empty list under 'paragraphs'")
        for number, paragraph in enumerate(paragraphs):
            text = parse_text(main, paragraph, "context", f"article {document}, paragraph {number}")
            passages.append(Passage(f"{document}-{number}", text, document, parse_sentences(paragraph, text)))
    return tuple(titles), tuple(passages)


def _answerable(path, articles):
    """`(row of its paragraph, id, question)` of the questions that their paragraphs answer."""
    row = -1
    for number, article in enumerate(articles):
        place = f"article {parse_title(article, str(number))!r}"
        for paragraph in parse_list(path, article, "paragraphs"):
            row += 1
            yield from ((row, parse_id(path, qa, "id", place), qa) for qa in parse_questions(path, paragraph))


def _squad_places(path, articles):
    """`{question id: (passage index, answers)}` of the file that holds the documents."""
    return {
        id: (row, parse_distinct_answers(path, qa, f"question {id}")) for row, id, qa in _answerable(path, articles)
    }


def _squad_questions(path, articles, language, places, documents):
    questions, (main, left) = {}, documents
    for _, id, qa in _answerable(path, articles):
        if id in left:
            continue
        text = parse_text(path, qa, "question", f"question {id}")
        if id not in places:
            raise DataError(f"{path}: question {id} has no passage: the id is not in {main.name}")
        if id in questions:
            raise DataError(f"{path}: question {id}: duplicate id in language {language}")
        questions[id] = Question(id, language, text, *places[id])
    return questions


def _say_left(folder, files, articles, questions):
    total = sum(
        len(parse_list(path, paragraph, "qas"))
        for language, path in files.items()
        for paragraph in parse_paragraphs(path, articles[language])
    )
    say_impossible(folder, total - sum(map(len, questions.values())), total)


def read_jsonl_folder(folder: Path, document_language: str) -> Dataset:
    """`documents.jsonl` and `questions.jsonl` as `read_lines` reads them. Raises `DataError` naming file and line."""
    titles, untitled, passages, questions = read_lines(folder / DOCUMENTS, folder / QUESTIONS, document_language)
    if document_language not in questions:
        raise DataError(
            f"{folder}: no questions in the documents' language {document_language}; "
            f"found {', '.join(questions) or 'none'}"
        )
    return Dataset(_name(folder), document_language, titles, passages, questions, untitled=untitled)


def _name(folder):
    return SHIPPED if folder == SAMPLE else folder.resolve().name
