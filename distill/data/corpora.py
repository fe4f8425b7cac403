"""MLQA and the gold paragraphs of XOR-TyDi as they are released, known by the names of their files.

Lewis et al. (2020), MLQA; Asai et al. (2021), XOR QA, of which CL-ReLKT takes the gold paragraphs (section 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from ..errors import DataError
from ..system.files import require_inside, seen
from ..system.hashes import sha256
from ..system.progress import say
from ..system.reading import iter_jsonl
from .dataset import Dataset, Passage, Question, normalise
from .parsing.fields import as_id, id_of, text_of, title_of
from .parsing.sentence_breaks import sentences_of
from .parsing.squad import articles_of, list_of, questions_of, say_impossible, squad_answers
from .parsing.tsv import read_table

MLQA_NAME = re.compile(r".*context-(?P<context>[\w-]+)-question-(?P<question>[\w-]+)$")
XOR_FILES = "gp_squad_*_data.json"
# XOR-TyDi's other files, which say the language of a question, and human translations of its questions.
XOR_LANGUAGES, XOR_TWINS = "xor_*.jsonl", "*-en.tsv"
# A title of XOR-TyDi is "title:Vamsy_parentSection:Introduction_sectionName:Career._sectionIndex:2".
XOR_TITLE = re.compile(r"title:(?P<title>.*?)_parentSection:")
ENGLISH = "en"
Read: TypeAlias = Callable[[Path, str], Dataset]


def corpus_reader(folder: Path) -> Read | None:
    """The reader of a folder that holds the files of a released corpus, None of another folder."""
    if any(MLQA_NAME.match(path.stem) for path in seen(folder, "*.json")):
        return read_mlqa
    return read_xor if seen(folder, XOR_FILES) else None


def files_beside(folder: Path) -> dict[str, str]:
    """`{file name: sha256}` of what `read_xor` reads beside its JSON; nothing of other folders."""
    if corpus_reader(folder) is not read_xor:
        return {}
    return {path.name: sha256(path) for path in seen(folder, XOR_LANGUAGES, XOR_TWINS)}


def read_mlqa(folder: Path, document_language: str) -> Dataset:
    """`…-context-xx-question-yy.json` of the documents' language xx, those of dev and test together.

    Questions of one id are translations of each other; their passage is where the documents' language has it. Other
    contexts are not read. Raises `DataError` where there is none in the documents' language.
    """
    names = {path: MLQA_NAME.match(path.stem) for path in seen(folder, "*.json")}
    spoken = {path: name["question"] for path, name in names.items() if name and name["context"] == document_language}
    if not spoken:
        there = ", ".join(sorted({name["context"] for name in names.values() if name}))
        raise DataError(f"{folder}: no MLQA file with contexts in {document_language}; they are in {there}")
    collected = _Collected()
    for path in sorted(spoken, key=lambda path: spoken[path] != document_language):
        collected.read(path, lambda _qa, _place, language=spoken[path]: language)
    return collected.dataset(folder, document_language)


def read_xor(folder: Path, document_language: str) -> Dataset:
    """`gp_squad_{train,dev}_data.json`: questions in many languages, English passages; an article is a document.

    Of a question that has several gold paragraphs the first counts. Where `{language}-en.tsv` has a question in
    English, found by a column "id" or else by the text, that is a translation of it. Raises `DataError` for other
    documents than English ones, and for a question whose language neither its file nor `xor_*.jsonl` says.
    """
    if document_language != ENGLISH:
        raise DataError(f"{folder}: XOR-TyDi's gold paragraphs are in English, not in {document_language}")
    require_inside(folder, XOR_TWINS)
    spoken, collected = _spoken(folder), _Collected(several=True)
    for path in reversed(seen(folder, XOR_FILES)):
        collected.read(path, lambda qa, place: _language(qa, place, spoken))
    dataset = collected.dataset(folder, ENGLISH)
    twins = _twins(folder, dataset)
    return replace(dataset, questions={**dataset.questions, ENGLISH: twins}) if twins else dataset


class _Collected:
    """The documents of several files, each once, and the questions about them.

    With `several` a question may be asked of more than one paragraph; the first counts. `total` is the number of
    questions, `left` that of those which no paragraph answers.
    """

    def __init__(self, several=False):
        self.several, self.sentences, self.questions = several, {}, {}
        self.total = self.left = 0

    def read(self, path, language_of):
        """Add the articles of a file, those of one title to one document."""
        for number, article in enumerate(articles_of(path)):
            title = title_of(article, f"{path.stem} {number}")
            name = XOR_TITLE.match(title)
            for paragraph in list_of(path, article, "paragraphs"):
                self._add(path, paragraph, name["title"] if name else title, language_of)

    def _add(self, path, paragraph, title, language_of):
        text = text_of(path, paragraph, "context", f"article {title!r}")
        self.sentences.setdefault(title, {}).setdefault(text, sentences_of(paragraph, text))
        answerable, total = questions_of(path, paragraph), len(list_of(path, paragraph, "qas"))
        self.total, self.left = self.total + total, self.left + total - len(answerable)
        for qa in answerable:
            id = id_of(path, qa, "id", f"article {title!r}")
            place = f"{path}: question {id}"
            known = self.questions.setdefault(language_of(qa, place), {})
            if id in known and not self.several:
                raise DataError(f"{place}: duplicate id in its language")
            known.setdefault(id, (text_of(path, qa, "question", f"question {id}"), (title, text), squad_answers(qa)))

    def dataset(self, folder, document_language):
        """Return all of it, the passages of a document beside each other; say how many questions were left out."""
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


def _spoken(folder):
    """`{question id: language}` of XOR-TyDi's files of questions, where they lie beside."""
    rows = [row for path in seen(folder, XOR_LANGUAGES) for _, row in iter_jsonl(path)]
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


def _twins(folder, dataset):
    """`{id: Question}` in English, of the questions that a table beside the data has a version of."""
    twins = {}
    for path in seen(folder, XOR_TWINS):
        language = path.stem.removesuffix(f"-{ENGLISH}")
        english = _versions(path, language)
        for id, question in dataset.questions.get(language, {}).items():
            if text := english.get(id) or english.get(normalise(question.text)):
                twins[id] = Question(id, ENGLISH, text, question.passage, question.answers)
    many = sum(map(len, dataset.questions.values()))
    say(f"{dataset.name}: {len(twins)} of {many} questions have an English version in {XOR_TWINS} beside them")
    return twins


def _versions(path, language):
    """`{id, or question as `normalise` has it: its English version}` of a table."""
    table = read_table(path, ("id", language, ENGLISH))
    if ENGLISH not in table or not {"id", language} & set(table):
        raise DataError(f"{path}: expected columns {language} and {ENGLISH}, or id and {ENGLISH}")
    keys = table["id"] if "id" in table else [normalise(text) for text in table[language]]
    return {key: text for key, text in zip(keys, table[ENGLISH], strict=True) if text.strip()}
