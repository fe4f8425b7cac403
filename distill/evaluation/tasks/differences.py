"""Questions that only one of two encoders answers, with the first result of each (CL-ReLKT, A.7, Table 12)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ...data.dataset import Dataset, Question
from ...encoders.encoder import Encoder, passage_weight_of
from ...encoders.health import require_finite
from ...retrieval.units import first_units
from ...settings.units import BY_NAME
from ...system.files import write_text
from ...system.progress import task as progress_of
from ...system.types import File, Json
from ..bm25 import Bm25, Bm25Scorer
from ..evaluate import Evaluation, encode_units
from .retrieval import RetrievalTask


@dataclass(frozen=True)
class Difference:
    """A question that only one of two encoders ranks first, with the rank and the first text under A and under B."""

    unit: str
    question: Question
    ranks: tuple[int, int]
    best: tuple[int, int]

    def as_dict(self, dataset: Dataset) -> dict[str, Json]:
        """Return plain values with the texts; `twin` is the question in the documents' language, if the data has it."""
        question, rank = self.question, BY_NAME[self.unit].rank
        twin = dataset.questions.get(dataset.document_language, {}).get(question.id)
        answer = question.passage if rank == "passage" else dataset.passages[question.passage].document
        sides: dict[str, Json] = {
            name: {"rank": place, "first": text_at(dataset, rank, first)}
            for name, place, first in zip("ab", self.ranks, self.best, strict=True)
        }
        return {
            **{"unit": self.unit, "id": question.id, "language": question.language, "text": question.text},
            **({"twin": twin.text} if twin and twin.language != question.language else {}),
            **{"only": "a" if self.ranks[0] == 1 else "b", "gold": text_at(dataset, rank, answer)},
            **sides,
        }


def text_at(dataset: Dataset, rank: str, row: int) -> dict[str, Json]:
    """Return a document's title and text, or a passage's with its id. `rank` is "document" or "passage"."""
    if rank == "document":
        return {"title": dataset.titles[row], "text": dataset.document_texts[row]}
    passage = dataset.passages[row]
    return {"id": passage.id, "title": dataset.titles[passage.document], "text": passage.text}


def find_differences(
    task: RetrievalTask, encoders: tuple[Encoder, Encoder], results: tuple[Evaluation, Evaluation]
) -> Iterator[Difference]:
    """Yield the questions that only one of two encoders ranks first, after encoding the searched texts once more."""
    cases = {unit: list(_cases(task, unit, results)) for unit in task.units}
    best = [_find_best(encoder, task.dataset, cases) for encoder in encoders]
    for unit, rows in cases.items():
        for number, (question, ranks) in enumerate(rows):
            first, second = (int(of[unit][number]) for of in best)
            yield Difference(unit, question, ranks, (first, second))


def write_differences(
    path: File, task: RetrievalTask, encoders: tuple[Encoder, Encoder], results: tuple[Evaluation, Evaluation]
) -> None:
    """Write the differences of two encoders as JSON lines."""
    rows = []
    with progress_of("differences", None) as advance:
        for one in find_differences(task, encoders, results):
            rows.append(json.dumps(one.as_dict(task.dataset), ensure_ascii=False))
            advance()
    write_text(path, "".join(f"{row}\n" for row in rows))


def _cases(task, unit, results):
    """Yield each question that only one encoder ranks first, with both ranks."""
    one, other = (result.ranks[unit] for result in results)
    for language in task.languages:
        questions = task.dataset.select(language, task.split)
        for question, a, b in zip(questions, one[language].tolist(), other[language].tolist(), strict=True):
            if (a == 1) != (b == 1):
                yield question, (a, b)


def _find_best(encoder, dataset, cases):
    """Return what an encoder ranks first for each case, `{unit: integer array (q,)}`."""
    texts = {unit: [question.text for question, _ in rows] for unit, rows in cases.items() if rows}
    if isinstance(encoder, Bm25):
        scores = Bm25Scorer(dataset, encoder.words, tuple(texts))
        return {unit: scores.first_units(rows, unit) for unit, rows in texts.items()}
    vectors = encode_units(encoder, dataset, tuple(texts))
    whole_of, weight = dataset.whole_of(tuple(vectors)), passage_weight_of(encoder)
    questions = {unit: require_finite(encoder.encode(rows, "question"), encoder) for unit, rows in texts.items()}
    return {unit: first_units(unit, rows, vectors, whole_of, weight=weight) for unit, rows in questions.items()}
