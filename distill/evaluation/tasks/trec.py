"""Rankings of retrieval as TREC's run files, and the right answers as its qrels, which trec_eval and others read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder, passage_weight_of
from ...encoders.health import require_finite
from ...retrieval.units import list_right, nearest_of
from ...settings.choices import UNITS_BY_NAME
from ...system.files import write_text
from ...system.progress import task as progress_of
from ...system.types import File
from ..bm25 import Bm25, Bm25Scorer
from ..evaluate import encode_units
from .retrieval import RetrievalTask

# A run has so many documents or passages per question, as runs of TREC do.
DEPTH = 1000
# Characters of a name that stay in the name of a file, and in a field of a line.
NAME, FIELD = re.compile(r"[^\w.-]+"), re.compile(r"\s+")


def write_trec(folder: File, task: RetrievalTask, encoders: Mapping[str, Encoder], depth: int = DEPTH) -> list[Path]:
    """Write a file UNIT.qrels for each unit of the task, and MODEL.UNIT.run for each encoder and unit.

    A question is named LANGUAGE-ID, a document by its number from 0 and its title, and a passage by its id. Texts are
    encoded once more.
    """
    written = []
    for unit in task.units:
        path = Path(folder) / f"{unit}.qrels"
        write_text(path, "".join(qrels(task, unit)))
        written.append(path)
    names = file_names(list(encoders))
    with progress_of("TREC runs", len(encoders) * len(task.units)) as advance:
        for name, encoder in encoders.items():
            for unit, nearest in _nearest(task, encoder, depth):
                path = Path(folder) / f"{names[name]}.{unit}.run"
                write_text(path, "".join(_lines(task, nearest, text_names(task.dataset, unit), names[name])))
                written.append(path)
                advance()
    return written


def file_names(models: Sequence[str]) -> dict[str, str]:
    """Return a name for files by model, each another."""
    stems = [NAME.sub("-", Path(model).name).strip("-") or "model" for model in models]
    return dict(zip(models, tell_apart(stems), strict=True))


def tell_apart(wanted: Sequence[str]) -> list[str]:
    """Return names without blanks, each another by a number; those that had no blanks are the last to change."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for row in sorted(range(len(wanted)), key=lambda row: bool(FIELD.search(wanted[row]))):
        stem = FIELD.sub("_", wanted[row])
        free = chain([stem], (f"{stem}-{number}" for number in count(2)))
        names[row] = next(name for name in free if name not in taken)
        taken.add(names[row])
    return [names[row] for row in range(len(wanted))]


def qrels(task: RetrievalTask, unit: str) -> Iterator[str]:
    """Yield the lines of a unit's qrels: question, 0, document or passage, 1. Copies of the passage are right too."""
    names, topics = text_names(task.dataset, unit), _question_names(task)
    above = None if UNITS_BY_NAME[unit].rank == "passage" else task.dataset.document_of
    for language in task.languages:
        questions = task.dataset.select(language, task.split)
        gold = np.array([question.passage for question in questions], dtype=np.int64)
        for place, row in zip(*list_right(gold, task.dataset.first_of, above), strict=True):
            yield f"{topics[questions[place]]} 0 {names[row]} 1\n"


def text_names(dataset: Dataset, unit: str) -> list[str]:
    """Return the names of what a unit ranks, one per document or passage."""
    if UNITS_BY_NAME[unit].rank == "passage":
        return tell_apart([passage.id for passage in dataset.passages])
    return [f"{row}-{FIELD.sub('_', title.strip())}".rstrip("-") for row, title in enumerate(dataset.titles)]


def _lines(task, nearest, names, tag):
    topics = _question_names(task)
    for language, (rows, scores) in nearest.items():
        for question, row, score in zip(task.dataset.select(language, task.split), rows, scores, strict=True):
            for place, (one, value) in enumerate(zip(row.tolist(), score.tolist(), strict=True), start=1):
                # Readers sort by the score, of which nine digits tell any two of float32 apart.
                yield f"{topics[question]} Q0 {names[one]} {place} {value:.9g} {tag}\n"


def _nearest(task, encoder, depth):
    """Yield each unit with `{language: (rows, scores)}`, `(q, k)` both."""
    dataset, languages = task.dataset, task.languages
    texts = {language: [q.text for q in dataset.select(language, task.split)] for language in languages}
    depths = {unit: min(depth, len(text_names(dataset, unit))) for unit in task.units}
    if isinstance(encoder, Bm25):
        scores = Bm25Scorer(dataset, encoder.words, task.units)
        for unit in task.units:
            yield unit, {language: scores.highest(rows, unit, depths[unit]) for language, rows in texts.items()}
        return
    vectors = encode_units(encoder, dataset, task.units)
    whole_of, weight = dataset.whole_of(tuple(vectors)), passage_weight_of(encoder)
    encoded = {name: require_finite(encoder.encode(rows, "question"), encoder) for name, rows in texts.items()}
    for unit in task.units:
        yield (
            unit,
            {
                name: nearest_of(unit, rows, vectors, whole_of, depths[unit], weight=weight)
                for name, rows in encoded.items()
            },
        )


def _question_names(task):
    """Return the name of each question."""
    questions = [one for language in task.languages for one in task.dataset.select(language, task.split)]
    return dict(zip(questions, tell_apart([f"{one.language}-{one.id}" for one in questions]), strict=True))
