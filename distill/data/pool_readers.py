"""Read SQuAD files with sentence boundaries (XQuAD-R, MLQA-R) into a pool."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from ..errors import DataError
from ..settings.choices import EVERY
from ..system.files import list_visible, write_json
from ..system.input_files import read_json
from ..system.types import File, Json
from ..vocabulary.words.cutting import find_sentences
from .contexts import read_descriptions
from .corpora import MLQA_NAME
from .dataset import Dataset, Question
from .parsing import (
    BREAKS,
    parse_answers,
    parse_articles,
    parse_breaks,
    parse_id,
    parse_list,
    parse_questions,
    parse_text,
    say_impossible,
)
from .pool import LanguageFile, Pool, make_pool
from .readers import find
from .splits import divide_ids, drop_copies, move_copies, read_splits


def load_pool(
    source: File,
    languages: Sequence[str] = (),
    split: str = "dev",
    document_language: str = "en",
    split_by: str = "question",
    seed: int = 0,
) -> Pool:
    """Read a pool from a folder of `{lang}.json`, or of MLQA's `…-context-xx-question-xx.json`, with `sentence_breaks`.

    Every sentence is a candidate, whatever the split. Raises `DataError` if a file is malformed, with its place.

    Args:
        languages: The languages; by default all.
        split: The split of the questions, by the folder's `splits.json` or drawn as in `load_dataset`; "all" for all.
        split_by: "question" or "document".
    """
    folder = find(source)
    files = find_language_files(folder)
    chosen = languages or sorted(files)
    missing = [language for language in chosen if language not in files]
    if missing or not files:
        raise DataError(
            f"{source}: no file of {', '.join(missing) or 'any language'}; expected {{lang}}.json with {BREAKS!r}, "
            f"found {', '.join(sorted(files)) or 'none'}. Give a data set that has them, such as XQuAD-R"
        )
    pool = make_pool(folder.resolve().name, {language: read_language(files[language]) for language in chosen})
    if split == EVERY:
        return pool
    # A split is one of all languages' questions, whichever are chosen.
    questions, documents = _read_questions(pool.name, files, document_language)
    stored = read_splits(folder, questions)
    if stored is None:
        splits = move_copies(questions, divide_ids(documents, split_by, seed))
    else:
        splits = drop_copies(questions, stored)
    if split not in splits:
        raise DataError(f"the data set {pool.name} has no split {split}; it has {', '.join(splits)}, and all")
    return pool.select(splits[split])


def _read_questions(name, files, document_language):
    """Return the questions of all files, and the article of each id, in the documents' language if that has it."""
    documents, questions = {}, {language: {} for language in files}
    for place, language in enumerate(sorted(files, key=lambda language: language != document_language)):
        for article, paragraph, where in _paragraphs(files[language]):
            for qa in parse_questions(files[language], paragraph):
                id = parse_id(files[language], qa, "id", where)
                documents.setdefault(id, (place, article))
                questions[language][id] = Question(id, language, str(qa.get("question") or ""), 0)
    return Dataset(name, document_language, (), (), questions), documents


def find_language_files(folder: Path) -> dict[str, Path]:
    """Return the file of each language; of MLQA's files those whose question and context share the language."""
    files: dict[str, Path] = {}
    for path in list_visible(folder, "*.json"):
        match = MLQA_NAME.match(path.stem)
        if path.stem == "splits" or (match and match["context"] != match["question"]):
            continue
        language = match["question"] if match else path.stem
        if language in files:
            raise DataError(f"{folder}: two files of {language}: {files[language].name} and {path.name}; keep one")
        files[language] = path
    return files


def has_sentences(folder: Path, languages: Sequence[str]) -> bool:
    """Tell whether the first paragraph of each language's file has sentence boundaries."""
    files = find_language_files(folder)
    return all(language in files and BREAKS in _first(files[language]) for language in languages)


def _first(path):
    return next((paragraph for _, paragraph, _ in _paragraphs(path)), {})


def can_cut(dataset: Dataset, folder: Path, languages: Sequence[str]) -> bool:
    """Tell whether `cut_sentences` finds passages, or descriptions of them, in each of the languages."""
    described = {line.language for line in read_descriptions(dataset, folder)}
    return {*languages} <= (described if described else {*find_language_files(folder)})


def cut_sentences(dataset: Dataset, folder: Path, languages: Sequence[str], output: Path) -> None:
    """Write a data set's passages with sentence boundaries, for `load_pool`, as `{lang}.json` to a folder.

    Passages of `{lang}.json` are cut. Where descriptions are beside `documents.jsonl`, each is a sentence of its own,
    stands for its passage, and is what answers the questions about it.
    """
    output.mkdir(parents=True, exist_ok=True)
    described = read_descriptions(dataset, folder)
    files = {} if described else find_language_files(folder)
    for language in languages:
        articles = _of_descriptions(dataset, described, language) if described else _cut(files[language], language)
        write_json(output / f"{language}.json", {"data": articles})
    if (folder / "splits.json").is_file():
        write_json(output / "splits.json", read_json(folder / "splits.json"))


def _cut(path, language):
    def with_breaks(paragraph):
        context = parse_text(path, paragraph, "context", "a paragraph")
        return {**paragraph, BREAKS: [list(pair) for pair in find_sentences(context, language)]}

    return [
        {**article, "paragraphs": [with_breaks(one) for one in parse_list(path, article, "paragraphs")]}
        for article in parse_articles(path)
    ]


def _of_descriptions(dataset, lines, language):
    """Return an article a document, whose paragraphs are the descriptions of its passages."""
    questions: dict[int, list[Json]] = {}
    texts = {line.passage: line.text.strip() for line in lines if line.language == language}
    for one in dataset.questions[language].values():
        answer = {"text": texts.get(one.passage, ""), "answer_start": 0}
        questions.setdefault(one.passage, []).append({"id": one.id, "question": one.text, "answers": [answer]})
    articles: list[dict[str, Json]] = [{"title": title, "paragraphs": []} for title in dataset.titles]
    for passage, text in sorted(texts.items()):
        paragraph = {"context": text, BREAKS: [[0, len(text)]], "qas": questions.get(passage, [])}
        articles[dataset.passages[passage].document]["paragraphs"].append(paragraph)
    return articles


def read_language(path: Path) -> LanguageFile:
    """Read the sentences and questions of a file. Raises `DataError` with file and place."""
    sentences, contexts, questions, left, known = [], [], [], 0, set()
    for _, paragraph, place in _paragraphs(path):
        context, breaks = parse_text(path, paragraph, "context", place), _breaks(path, paragraph, place)
        first = len(sentences)
        sentences += [context[start:end] for start, end in breaks]
        contexts += [context] * len(breaks)
        answerable = parse_questions(path, paragraph)
        left += len(parse_list(path, paragraph, "qas")) - len(answerable)
        for qa in answerable:
            id = parse_id(path, qa, "id", place)
            if id in known:
                raise DataError(f"{path}: question {id}: duplicate id")
            known.add(id)
            numbers = [first + number for number in _find_answering(f"{path}: question {id}", qa, context, breaks)]
            questions.append((id, parse_text(path, qa, "question", f"question {id}"), numbers))
    say_impossible(path, left, left + len(questions))
    return LanguageFile(sentences, contexts, questions)


def _paragraphs(path):
    for number, article in enumerate(parse_articles(path)):
        for index, paragraph in enumerate(parse_list(path, article, "paragraphs")):
            yield number, paragraph, f"article {number}, paragraph {index}"


def _breaks(path, paragraph, place):
    if paragraph.get(BREAKS) is None:
        raise DataError(
            f"{path}, {place}: no {BREAKS!r}; LAReQA needs each paragraph's sentence boundaries "
            "as [[start, end], …] in characters, such as XQuAD-R has"
        )
    return parse_breaks(paragraph, paragraph["context"], f"{path}, {place}")


def _find_answering(place, qa, context, breaks):
    """Return the sentences in which the answers begin. For a span across a boundary the first sentence counts."""
    answers = parse_answers(qa)
    if not isinstance(answers, list) or not answers:
        raise DataError(f"{place}: expected a non-empty list under 'answers'")
    return sorted({_sentence(place, answer, context, breaks) for answer in answers})


def _sentence(place, answer, context, breaks):
    answer = answer if isinstance(answer, dict) else {}
    text, start = answer.get("text"), answer.get("answer_start")
    if not isinstance(text, str) or not text or type(start) is not int:
        raise DataError(f"{place}: expected an answer with 'text' and 'answer_start', got {answer!r}")
    if not 0 <= start < start + len(text) <= len(context):
        raise DataError(
            f"{place}: its answer span [{start}, {start + len(text)}] lies outside its paragraph "
            f"of {len(context)} characters"
        )
    start = _mend_start(place, text, start, context)
    number = bisect_right(breaks, start, key=lambda pair: pair[0]) - 1
    if number < 0 or start >= breaks[number][1]:
        raise DataError(f"{place}: its answer at character {start} lies in none of the paragraph's sentences")
    return number


def _mend_start(place, text, start, context):
    """Return the start of an answer: as given, or, if its text is elsewhere, the nearest occurrence."""
    if context.startswith(text, start):
        return start
    begins = [match.start() for match in re.finditer(re.escape(text), context)]
    if not begins:
        raise DataError(f"{place}: its answer {text!r} is nowhere in its paragraph")
    return min(begins, key=lambda begin: abs(begin - start))
