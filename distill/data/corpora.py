"""Read MLQA and the gold paragraphs of XOR-TyDi as they are released, recognised by their file names.

Lewis et al. (2020), MLQA; Asai et al. (2021), XOR QA, of which CL-ReLKT takes the gold paragraphs (section 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from ..errors import DataError
from ..system.files import list_visible, require_inside
from ..system.hashes import sha256
from ..system.input_files import iter_jsonl
from ..system.progress import say
from .dataset import Dataset, Passage, Question, normalise
from .parsing import (
    as_id,
    parse_articles,
    parse_distinct_answers,
    parse_id,
    parse_list,
    parse_questions,
    parse_sentences,
    parse_text,
    parse_title,
    read_table,
    say_impossible,
)

MLQA_NAME = re.compile(r".*context-(?P<context>[\w-]+)-question-(?P<question>[\w-]+)$")
XOR_FILES = "gp_squad_*_data.json"
# XOR-TyDi's other files, which say the language of a question, and human translations of its questions.
XOR_LANGUAGES, XOR_TWINS = "xor_*.jsonl", "*-en.tsv"
# A title of XOR-TyDi is "title:Vamsy_parentSection:Introduction_sectionName:Career._sectionIndex:2".
XOR_TITLE = re.compile(r"title:(?P<title>.*?)_parentSection:")
ENGLISH = "en"
Read: TypeAlias = Callable[[Path, str], Dataset]


def find_corpus_reader(folder: Path) -> Read | None:
    """Return the reader of a folder with the files of a released corpus, or None."""
    if any(MLQA_NAME.match(path.stem) for path in list_visible(folder, "*.json")):
        return read_mlqa
    return read_xor if list_visible(folder, XOR_FILES) else None


def hash_files_beside(folder: Path) -> dict[str, str]:
    """Return the sha256 of the files that `read_xor` reads besides its JSON, empty for other folders."""
    if find_corpus_reader(folder) is not read_xor:
        return {}
    return {path.name: sha256(path) for path in list_visible(folder, XOR_LANGUAGES, XOR_TWINS)}


def read_mlqa(folder: Path, document_language: str) -> Dataset:
    """Read `…-context-xx-question-yy.json` with contexts in the documents' language xx, dev and test together.

    Questions of one id are translations of each other. Their passage is the one in the documents' language; other
    contexts are not read.
    """
    names = {path: MLQA_NAME.match(path.stem) for path in list_visible(folder, "*.json")}
    spoken = {path: name["question"] for path, name in names.items() if name and name["context"] == document_language}
    if not spoken:
        there = ", ".join(sorted({name["context"] for name in names.values() if name}))
        raise DataError(f"{folder}: no MLQA file with contexts in {document_language}; they are in {there}")
    collected = _ArticleCollector()
    for path in sorted(spoken, key=lambda path: spoken[path] != document_language):
        collected.read(path, lambda _qa, _place, language=spoken[path]: language)
    return collected.dataset(folder, document_language)


def read_xor(folder: Path, document_language: str) -> Dataset:
    """Read `gp_squad_{train,dev}_data.json`: questions in many languages about English passages, by article.

    If a question has several gold paragraphs, the first counts. `{language}-en.tsv` beside them gives questions an
    English translation, found by a column "id" or else by the text.
    """
    if document_language != ENGLISH:
        raise DataError(f"{folder}: XOR-TyDi's gold paragraphs are in English, not in {document_language}")
    require_inside(folder, XOR_TWINS)
    spoken, collected = _read_languages(folder), _ArticleCollector(several=True)
    for path in reversed(list_visible(folder, XOR_FILES)):
        collected.read(path, lambda qa, place: _language(qa, place, spoken))
    dataset = collected.dataset(folder, ENGLISH)
    twins = _read_translations(folder, dataset)
    return replace(dataset, questions={**dataset.questions, ENGLISH: twins}) if twins else dataset


class _ArticleCollector:
    """Collects documents of several files, each once, and the questions about them.

    With `several`, a question may be asked about more than one paragraph; the first counts. `left` is the number of
    questions without an answering paragraph, of a `total`.
    """

    def __init__(self, several=False):
        self.several, self.sentences, self.questions = several, {}, {}
        self.total = self.left = 0

    def read(self, path, language_of):
        """Add the articles of a file; those of one title form one document."""
        for number, article in enumerate(parse_articles(path)):
            title = parse_title(article, f"{path.stem} {number}")
            name = XOR_TITLE.match(title)
            for paragraph in parse_list(path, article, "paragraphs"):
                self._add(path, paragraph, name["title"] if name else title, language_of)

    def _add(self, path, paragraph, title, language_of):
        text = parse_text(path, paragraph, "context", f"article {title!r}")
        self.sentences.setdefault(title, {}).setdefault(text, parse_sentences(paragraph, text))
        answerable, total = parse_questions(path, paragraph), len(parse_list(path, paragraph, "qas"))
        self.total, self.left = self.total + total, self.left + total - len(answerable)
        for qa in answerable:
            id = parse_id(path, qa, "id", f"article {title!r}")
            place = f"{path}: question {id}"
            known = self.questions.setdefault(language_of(qa, place), {})
            if id in known and not self.several:
                raise DataError(f"{place}: duplicate id in its language")
            question = parse_text(path, qa, "question", f"question {id}")
            known.setdefault(id, (question, (title, text), parse_distinct_answers(path, qa, f"question {id}")))

    def dataset(self, folder, document_language):
        """Return the data set, with the passages of a document in sequence. Print how many questions were left out."""
        say_impossible(folder, self.left, self.total)
        passages = [
            Passage(f"{document}-{number}", text, document, places)
            for document, texts in enumerate(self.sentences.values())
            for number, (text, places) in enumerate(texts.items())
        ]
        keys = [(title, text) for title, texts in self.sentences.items() for text in texts]
        rows, first = {key: row for row, key in enumerate(keys)}, {}
        questions = {
            language: {
                id: Question(id, language, text, rows[first.setdefault(id, key)], answers)
                for id, (text, key, answers) in known.items()
            }
            for language, known in self.questions.items()
        }
        return Dataset(folder.resolve().name, document_language, tuple(self.sentences), tuple(passages), questions)


def _read_languages(folder):
    """Return the language of each question id by XOR-TyDi's files of questions, if they lie beside."""
    rows = [row for path in list_visible(folder, XOR_LANGUAGES) for _, row in iter_jsonl(path)]
    return {id: str(row.get("lang") or "").strip() for row in rows if (id := as_id(row.get("id")))}


def _language(qa, place, spoken):
    # Some stand with a blank before them.
    language = str(qa.get("lang") or spoken.get(as_id(qa.get("id")), "")).strip()
    if not language:
        raise DataError(
            f"{place}: no language under 'lang', so this is no file of XOR-TyDi's gold paragraphs; "
            "take theirs, or lay their xor_*.jsonl beside it"
        )
    return language


def _read_translations(folder, dataset):
    """Return the English translations of questions that a table beside the data has, by id."""
    twins = {}
    for path in list_visible(folder, XOR_TWINS):
        language = path.stem.removesuffix(f"-{ENGLISH}")
        english = _read_versions(path, language)
        for id, question in dataset.questions.get(language, {}).items():
            if text := english.get(id) or english.get(normalise(question.text)):
                twins[id] = Question(id, ENGLISH, text, question.passage, question.answers)
    count = sum(map(len, dataset.questions.values()))
    say(f"{dataset.name}: {len(twins)} of {count} questions have an English version in {XOR_TWINS} beside them")
    return twins


def _read_versions(path, language):
    """Return the English versions in a table, by id or by the question as `normalise` returns it."""
    table = read_table(path, ("id", language, ENGLISH))
    if ENGLISH not in table or not {"id", language} & set(table):
        raise DataError(f"{path}: expected columns {language} and {ENGLISH}, or id and {ENGLISH}")
    keys = table["id"] if "id" in table else [normalise(text) for text in table[language]]
    return {key: text for key, text in zip(keys, table[ENGLISH], strict=True) if text.strip()}
