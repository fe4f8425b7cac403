"""More questions for stage 1, each with the passage that answers it, from files and other data sets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..encoders.batching import draw_rows
from ..errors import DataError
from ..system.input_files import read_jsonl
from ..system.progress import say
from ..system.types import Booleans, File, Integers
from ..vocabulary.words.answer_finder import find_answer_sentence
from .dataset import Dataset, Question, name_line, normalise
from .loading import read_dataset
from .parallel import parse_weight
from .parsing import is_impossible, parse_answer_texts, parse_text, read_table, say_impossible
from .readers import SHIPPED

QUESTION = "question"
# Either name heads what answers the question.
PASSAGE = ("passage", "sentence")
# Ends the name of a data set of which all questions are taken.
ALL = ":all"


@dataclass(frozen=True)
class Triplets:
    """Pairs `(n,)` of one source: questions, the text that answers each, and answers in it, if the source has any."""

    name: str
    weight: float
    questions: tuple[str, ...]
    passages: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Collection:
    """Questions `(q,)`, each with its gold passage's row in a pool `(p,)`, and the document of each passage.

    A sentence belongs to its passage's document.
    """

    questions: tuple[Question, ...]
    passages: tuple[str, ...]
    document_of: Integers
    positives: tuple[Integers, ...]
    languages: tuple[str, ...]


def load_triplets(
    files: Sequence[File],
    dataset: Dataset,
    language: str,
    seed: int = 0,
    split_by: str = "question",
    dev: Dataset | None = None,
) -> list[Triplets]:
    """Read more questions in the teacher's language, without those of dev and test.

    A pair whose question is one of dev or test, of the data set or of `dev`, whatever its case and punctuation, is left
    out. The number of passages that share text with dev's documents is printed.
    """
    sources = read_triplets(files, language, seed, split_by)
    held = {extract_letters(q.text) for data in (dataset, dev) if data for q in _held_out(data, language)}
    for source in sources:
        warn_of_shared(source.name, source.passages, dev or dataset)
    return [_without(source, held) for source in sources]


def _held_out(dataset, language):
    known = dataset.questions.get(language, {})
    return [known[id] for split in ("dev", "test") for id in dataset.splits.get(split, ()) if id in known]


def warn_of_shared(name: str, passages: Sequence[str], dev: Dataset) -> None:
    """Print how many passages of a collection share text with the documents of dev's questions."""
    rows = {question.passage for language in dev.languages for question in dev.select(language, "dev")}
    texts = list(dict.fromkeys(passages))
    count = int(find_sharing(texts, [dev.passages[row].text for row in sorted(rows)]).sum())
    if count:
        say(f"warning: {name}: {count} of {len(texts)} passages share text with the dev documents of {dev.name}")


def _without(source, held):
    kept = [row for row, question in enumerate(source.questions) if extract_letters(question) not in held]
    if not kept:
        raise DataError(f"{source.name}: all its questions are of the data set's dev or test; give others")
    left = len(source.questions) - len(kept)
    if left:
        say(f"{source.name}: {left} of {len(source.questions)} pairs ask questions of dev or test, left out")
    columns = (source.questions, source.passages, source.answers)
    return Triplets(source.name, source.weight, *(tuple(column[row] for row in kept) for column in columns))


def read_triplets(
    files: Sequence[File], language: str = "en", seed: int = 0, split_by: str = "question"
) -> list[Triplets]:
    """Read questions with the passages that answer them.

    A pair that occurs twice counts once. `files` are `FILE` or `FILE=WEIGHT`: a .tsv with the columns question and
    passage (or sentence), .jsonl with these keys and optionally "answers", or the folder of a data set, whose train
    questions are taken; all with `DIR:all`.
    """
    return [_source(*parse_source(one), language, seed, split_by) for one in files]


def parse_source(source: File) -> tuple[Path, bool, float]:
    """Return the path of a source, whether all questions of a data set are meant, and its weight."""
    path, weight = parse_weight(source)
    name = str(path)
    everything = name.endswith(ALL) and not path.exists()
    return (Path(name.removesuffix(ALL)) if everything else path), everything, weight


def _source(path, everything, weight, language, seed, split_by):
    if path.is_dir() or str(path) == SHIPPED:
        rows = _from_dataset(read_dataset(path, language, split_by, seed), language, everything)
    elif everything:
        raise DataError(f"{path}: no such data set folder; {ALL} is for one, of which all questions are taken")
    else:
        rows = _from_jsonl(path) if path.suffix == ".jsonl" else _from_tsv(path)
    pairs = {(normalise(question), normalise(passage)): (question, passage, of) for question, passage, of in rows}
    if not pairs:
        raise DataError(f"{path}: no pairs in it; write a question and its passage a line")
    return Triplets(path.name, weight, *map(tuple, zip(*pairs.values(), strict=True)))


def _from_dataset(dataset, language, everything):
    questions = dataset.questions.get(language, {}).values()
    if not everything:
        train = set(dataset.splits.get("train", ()))
        questions = [question for question in questions if question.id in train]
    if not questions:
        raise DataError(f"{dataset.name}: no train questions in {language}; take all of its questions with {ALL}")
    return [(q.text, dataset.passages[q.passage].text, q.answers) for q in questions]


def _from_jsonl(path):
    every = read_jsonl(path)
    rows = [(number, row) for number, row in every if not is_impossible(row)]
    say_impossible(path, len(every) - len(rows), len(every))
    return [
        (*_pair(path, number, row, _passage_name(path, number, row)), _answers(parse_answer_texts(row)))
        for number, row in rows
    ]


def _from_tsv(path):
    columns = read_table(path, (QUESTION, *PASSAGE))
    name = _passage_name(path, 1, columns)
    if QUESTION not in columns:
        raise DataError(f"{path}, line 1: expected a .tsv headed by {QUESTION} and {' or '.join(PASSAGE)}")
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return [(*_pair(path, number, row, name), ()) for number, row in enumerate(rows, start=2)]


def _passage_name(path, number, columns):
    names = [name for name in PASSAGE if name in columns]
    if len(names) != 1:
        what = " and ".join(names) or "neither"
        raise DataError(f"{path}, line {number}: expected {QUESTION} and one of {', '.join(PASSAGE)}, got {what}")
    return names[0]


def _pair(path, number, row, passage):
    return tuple(parse_text(path, row, name, f"line {number}").strip() for name in (QUESTION, passage))


def _answers(value):
    """Return the answers of a row that are texts; none are needed."""
    return tuple(answer for answer in value if isinstance(answer, str)) if isinstance(value, list) else ()


def make_own_collection(dataset: Dataset, questions: Sequence[Question], with_sentences: bool = False) -> Collection:
    """Make a collection of a data set's questions and all its passages, or their sentences with answers too."""
    sentences = find_answer_sentences(dataset, questions) if with_sentences else [None] * len(questions)
    return _make_pool(questions, dataset.passage_texts, dataset.document_of, sentences, dataset.passage_languages)


def make_document_collection(dataset: Dataset, questions: Sequence[Question]) -> Collection:
    """Make a collection of questions and whole documents, each in the language of its first passage."""
    document_of, count = dataset.document_of, len(dataset.titles)
    spoken = [dataset.passage_languages[row] for row in np.searchsorted(document_of, np.arange(count))]
    whole = [replace(question, passage=int(document_of[question.passage])) for question in questions]
    return _make_pool(whole, dataset.document_texts, np.arange(count), [None] * len(whole), spoken)


def make_collection(sources: Sequence[Triplets], language: str, with_sentences: bool = False) -> Collection:
    """Make a collection of the pairs of all sources, with each passage once, as a document of its own."""
    pool: dict[str, tuple[int, str]] = {}
    questions, sentences = [], []
    for source in sources:
        answers = source.answers or ((),) * len(source.questions)
        for row, (question, passage, of) in enumerate(zip(source.questions, source.passages, answers, strict=True)):
            place, text = pool.setdefault(normalise(passage), (len(pool), passage))
            questions.append(Question(name_line(source.name, row, question), language, question, place, of))
            sentences.append(find_answer_sentence(text, of, language) if with_sentences and of else None)
    texts = [text for _, text in pool.values()]
    return _make_pool(questions, texts, np.arange(len(pool)), sentences, [language] * len(pool))


def find_answer_sentences(dataset: Dataset, questions: Sequence[Question]) -> list[str | None]:
    """Return the sentence of each question's passage that holds its answer, or None."""
    passages = [dataset.passages[question.passage] for question in questions]
    return [
        find_answer_sentence(passage.text, of.answers, passage.language or dataset.document_language, passage.sentences)
        for passage, of in zip(passages, questions, strict=True)
    ]


def _make_pool(questions, passages, document_of, sentences, languages):
    """Make a collection in which each passage is followed by the `sentences` of its questions, texts or None."""
    of_passage = [{} for _ in passages]
    for question, text in zip(questions, sentences, strict=True):
        if text is not None:
            of_passage[question.passage].setdefault(text, 1 + len(of_passage[question.passage]))
    sizes = np.array([1 + len(texts) for texts in of_passage], dtype=np.int64)
    languages = tuple(language for language, size in zip(languages, sizes, strict=True) for _ in range(size))
    first = np.cumsum(sizes) - sizes
    return Collection(
        questions=tuple(replace(question, passage=int(first[question.passage])) for question in questions),
        passages=tuple(text for passage, more in zip(passages, of_passage, strict=True) for text in (passage, *more)),
        document_of=np.repeat(document_of, sizes),
        positives=tuple(
            first[question.passage] + np.array([0] if text is None else [0, of_passage[question.passage][text]])
            for question, text in zip(questions, sentences, strict=True)
        ),
        languages=languages,
    )


def draw_epoch(sources: Sequence[Triplets], an_epoch: int, count: int, seed: int, epoch: int) -> Integers:
    """Draw the pairs of all sources that an epoch uses: each source by its weight, all of it before one is repeated.

    `an_epoch` is the number of pairs, 0 for all, -1 for `count`.
    """
    sizes = [len(source.questions) for source in sources]
    number = min(count if an_epoch < 0 else an_epoch or sum(sizes), sum(sizes))
    if number == sum(sizes):
        return np.arange(number)
    weights = np.array([source.weight for source in sources])
    groups = np.repeat(np.arange(len(sources)), sizes)
    return draw_rows(groups, weights / weights.sum(), number, (epoch - 1) * number, seed)


# The number of letters and digits in a run. Blanks and punctuation are left out, as sources write them differently.
RUN = 50
# The base of a polynomial hash modulo 2**64 of the runs (Karp and Rabin, 1987). Any odd number has an inverse.
BASE = 0x9E3779B97F4A7C15
INVERSE = pow(BASE, -1, 2**64)


def find_sharing(texts: Sequence[str], others: Sequence[str], run: int = RUN) -> Booleans:
    """Find the texts that have a run of letters, whatever case, blanks and punctuation, in common with other texts."""
    windows = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *(_hash_runs(other, run) for other in others)]))
    return np.array([_holds_any(_hash_runs(text, run), windows) for text in texts], dtype=bool)


def extract_letters(text: str) -> str:
    """Return the letters and digits of a text, in one case and width."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())


def _holds_any(numbers, known):
    """Return True if one of the `numbers` is among the ascending `known` ones."""
    places = np.searchsorted(known, numbers)
    inside = places < len(known)
    return bool((known[places[inside]] == numbers[inside]).any())


def _hash_runs(text, run) -> NDArray[np.uint64]:
    """Return a hash of each run of letters."""
    codes = np.frombuffer(extract_letters(text).encode("utf-32-le", "replace"), dtype="<u4").astype(np.uint64)
    if len(codes) < run:
        return np.zeros(0, dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(codes * _powers(BASE, len(codes)))])
    return (sums[run:] - sums[:-run]) * _powers(INVERSE, len(sums) - run)


def _powers(base, count):
    """Return 1, base, base ** 2 … modulo 2**64."""
    factors = np.full(count, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)
