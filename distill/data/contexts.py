"""Read a data set's passages in other languages, as files in XQuAD's format have them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import DataError
from ..system.types import File
from .dataset import Dataset
from .parsing.fields import parse_distinct_answers, parse_id, parse_text
from .parsing.squad import parse_articles, parse_paragraphs, parse_questions
from .readers import find


def read_contexts(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the passages of a data set in several languages.

    Args:
        source: Its folder. Only SQuAD files `{lang}.json` have passages in other languages than the documents'.

    Returns:
        The texts `(p,)` by language, the documents' language first.

    Raises:
        DataError: If the paragraphs of a file are not those of the documents.
    """
    others = {language: _texts(path, dataset) for language, path in _find_files(dataset, source, languages).items()}
    return {dataset.document_language: tuple(dataset.passage_texts), **others}


def read_answers(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read the answers, spans of the passages in each language, if the data has them.

    Args:
        dataset: The data set.
        source: Its folder.
        languages: The languages.

    Returns:
        The answers by language and question id.
    """
    answers = {id: question.answers for id, question in dataset.questions.get(dataset.document_language, {}).items()}
    others = {language: _answers(path) for language, path in _find_files(dataset, source, languages).items()}
    return {dataset.document_language: answers, **others}


def _find_files(dataset, source, languages):
    """Return the files with passages in other languages than the documents', by language."""
    folder = find(source)
    if (folder / "documents.jsonl").is_file():
        return {}
    paths = {language: folder / f"{language}.json" for language in languages}
    return {
        language: path for language, path in paths.items() if language != dataset.document_language and path.is_file()
    }


def _texts(path, dataset):
    paragraphs = parse_paragraphs(path, parse_articles(path))
    if len(paragraphs) != len(dataset.passages):
        raise DataError(
            f"{path}: {len(paragraphs)} paragraphs, but {len(dataset.passages)} in {dataset.document_language}.json; "
            "its paragraphs have to be the same in the same order"
        )
    questions = dataset.questions[path.stem]
    for number, paragraph in enumerate(paragraphs):
        for id in _ids(path, paragraph, number):
            # One that the documents' paragraph does not answer is no question of the data set.
            if id in questions and questions[id].passage != number:
                raise DataError(f"{path}, paragraph {number}: question {id} is of another paragraph")
    return tuple(parse_text(path, paragraph, "context", f"paragraph {i}") for i, paragraph in enumerate(paragraphs))


def _ids(path, paragraph, number):
    return [parse_id(path, qa, "id", f"paragraph {number}") for qa in parse_questions(path, paragraph)]


def _answers(path):
    paragraphs = parse_paragraphs(path, parse_articles(path))
    return {
        id: parse_distinct_answers(path, qa, f"question {id}")
        for number, paragraph in enumerate(paragraphs)
        for id, qa in zip(_ids(path, paragraph, number), parse_questions(path, paragraph), strict=True)
    }
