"""A data set's passages in other languages, as XQuAD-format files have them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import DataError
from ..system.types import File
from .dataset import Dataset
from .readers import articles_of, find, list_of, paragraphs_of, squad_answers, text_of


def read_contexts(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`{language: texts (p,)}` of the data set's passages, its documents' language first.

    A folder of SQuAD-format `{lang}.json` has them in each of `languages` that it has a file of; other data in the
    documents' language alone. Raises `DataError` where a file's paragraphs are not those of the documents.
    """
    others = {language: _texts(path, dataset) for language, path in _files(dataset, source, languages).items()}
    return {dataset.document_language: tuple(dataset.passage_texts), **others}


def read_answers(dataset: Dataset, source: File, languages: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """`{language: {question id: answers}}`: spans of the passages in that language, where the data has them."""
    answers = {id: question.answers for id, question in dataset.questions.get(dataset.document_language, {}).items()}
    others = {language: _answers(path) for language, path in _files(dataset, source, languages).items()}
    return {dataset.document_language: answers, **others}


def _files(dataset, source, languages):
    """`{language: path}` of what has the passages in other languages than the documents'."""
    folder = find(source)
    if (folder / "documents.jsonl").is_file():
        return {}
    paths = {language: folder / f"{language}.json" for language in languages}
    return {
        language: path for language, path in paths.items() if language != dataset.document_language and path.is_file()
    }


def _texts(path, dataset):
    paragraphs = paragraphs_of(path, articles_of(path))
    if len(paragraphs) != len(dataset.passages):
        raise DataError(
            f"{path}: {len(paragraphs)} paragraphs, but {len(dataset.passages)} in {dataset.document_language}.json; "
            "its paragraphs have to be the same in the same order"
        )
    questions = dataset.questions[path.stem]
    for number, paragraph in enumerate(paragraphs):
        for qa in list_of(path, paragraph, "qas"):
            if questions[str(qa.get("id"))].passage != number:
                raise DataError(f"{path}, paragraph {number}: question {qa.get('id')} is of another paragraph")
    return tuple(text_of(path, paragraph, "context", f"paragraph {i}") for i, paragraph in enumerate(paragraphs))


def _answers(path):
    paragraphs = paragraphs_of(path, articles_of(path))
    return {str(qa.get("id")): squad_answers(qa) for paragraph in paragraphs for qa in list_of(path, paragraph, "qas")}
