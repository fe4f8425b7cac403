"""More questions for stage 1, each with the passage that answers it, from files beside the data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from ..system.progress import say
from ..system.reading import read_jsonl
from ..system.types import File
from .dataset import Dataset, normalise
from .parallel import weighted
from .readers import text_of
from .tsv import read_table

QUESTION = "question"
# Either name heads what answers the question.
PASSAGE = ("passage", "sentence")


@dataclass(frozen=True)
class Triplets:
    """Pairs `(n,)` of one source: `questions`, and `passages`, the text that answers each."""

    name: str
    weight: float
    questions: tuple[str, ...]
    passages: tuple[str, ...]


def load_triplets(files: Sequence[File], dataset: Dataset, language: str) -> list[Triplets]:
    """`[Triplets]` of `FILE` or `FILE=WEIGHT` in the teacher's `language`, without the data set's dev and test.

    A question of dev or test may not be learned from: pairs that ask one, whatever its case and punctuation, are left
    out. Raises `DataError` where nothing is left.
    """
    held = {_letters(q.text) for split in ("dev", "test") for q in _questions(dataset, language, split)}
    return [_without(source, held) for source in read_triplets(files)]


def _questions(dataset, language, split):
    return dataset.select(language, split) if split in dataset.splits else []


def _letters(text):
    return re.sub(r"[\W_]+", "", normalise(text))


def _without(source, held):
    pairs = zip(source.questions, source.passages, strict=True)
    kept = [pair for pair in pairs if _letters(pair[0]) not in held]
    if not kept:
        raise DataError(f"{source.name}: all its questions are of the data set's dev or test; give others")
    left = len(source.questions) - len(kept)
    if left:
        say(f"{source.name}: {left} of {len(source.questions)} pairs ask questions of dev or test, left out")
    return Triplets(source.name, source.weight, *map(tuple, zip(*kept, strict=True)))


def read_triplets(files: Sequence[File]) -> list[Triplets]:
    """`[Triplets]` of `FILE` or `FILE=WEIGHT`: a .tsv headed by question and passage, or .jsonl of such objects.

    The passage may be called sentence. A pair that is there twice counts once. Raises `DataError` with the line that
    is wrong.
    """
    return [_source(*weighted(one)) for one in files]


def _source(path, weight):
    rows = _from_jsonl(path) if path.suffix == ".jsonl" else _from_tsv(path)
    pairs = {(normalise(question), normalise(passage)): (question, passage) for question, passage in rows}
    if not pairs:
        raise DataError(f"{path}: no pairs in it; write a question and its passage a line")
    return Triplets(Path(path).name, weight, *map(tuple, zip(*pairs.values(), strict=True)))


def _from_jsonl(path):
    return [_pair(path, number, row, _passage_name(path, number, row)) for number, row in read_jsonl(path)]


def _from_tsv(path):
    columns = read_table(path, (QUESTION, *PASSAGE))
    name = _passage_name(path, 1, columns)
    if QUESTION not in columns:
        raise DataError(f"{path}, line 1: expected a .tsv headed by {QUESTION} and {' or '.join(PASSAGE)}")
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return [_pair(path, number, row, name) for number, row in enumerate(rows, start=2)]


def _passage_name(path, number, columns):
    names = [name for name in PASSAGE if name in columns]
    if len(names) != 1:
        what = " and ".join(names) or "neither"
        raise DataError(f"{path}, line {number}: expected {QUESTION} and one of {', '.join(PASSAGE)}, got {what}")
    return names[0]


def _pair(path, number, row, passage):
    return tuple(text_of(path, row, name, f"line {number}").strip() for name in (QUESTION, passage))
