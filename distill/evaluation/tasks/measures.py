"""The work of `distill evaluate` and `distill compare`: encoders measured on tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from ...data.dataset import Dataset, Question
from ...encoders.encoder import Encoder, passage_weight_of
from ...encoders.health import require_finite
from ...errors import EncoderError
from ...report.bias_tables import print_translated
from ...retrieval.units import first_units
from ...settings.choices import UNITS_BY_NAME
from ...system.extras import require_training
from ...system.files import write_text
from ...system.progress import task as progress_of
from ...system.types import File, Json
from ..bm25 import Bm25, Bm25Scorer
from ..evaluate import Evaluation, encode_units
from ..paired_comparison import Comparisons, Pair, compare_scores, count_comparisons
from ..translation import SUFFIX, TranslationCounts, TranslationSource
from .retrieval import RetrievalTask
from .task import Figures, Result, Task


@dataclass(frozen=True)
class TaskFigures(Generic[Figures]):
    """The figures of encoders, by name, on a task, and counts of what was `translated`, if anything was.

    `outcomes`, if they are asked for, are `{name: {metric: {part: {language: {question: score}}}}}`.
    """

    task: Task
    encoders: dict[str, Figures]
    translated: TranslationCounts | None = None
    outcomes: dict[str, Json] | None = None

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `--json` writes them."""
        outcomes: dict[str, Json] = {} if self.outcomes is None else {"outcomes": self.outcomes}
        translated = self.translated.as_dict() if self.translated else {}
        return {**self.task.as_dict(self.encoders), **translated, **outcomes}

    def print(self) -> None:
        self.task.print(self.encoders)
        if self.translated:
            print_translated(self.task.name, self.translated)


def measure_all(
    models: Sequence[str],
    tasks: Sequence[Task],
    load: Callable[[str], Encoder],
    translation: TranslationSource | None = None,
    pivot: str = "en",
    outcomes: bool = False,
) -> list[TaskFigures]:
    """Measure encoders on tasks.

    With a translation each encoder is measured again with translated questions, under "NAME, translated". An error in
    the translation is raised before anything is measured. `outcomes` keeps each question's scores too.
    """
    require_training(*(package for task in tasks for package in task.needs))
    encoders = {model: load(model) for model in models}
    # A wrong model should fail before a translator runs, and a wrong translation before the long measurement.
    translated = {task.name: task.with_translations(translation, pivot) for task in tasks} if translation else {}
    kept: list[dict[str, Json] | None] = [{} if outcomes else None for _ in tasks]
    plain = [TaskFigures(task, _figures(task, encoders, of), outcomes=of) for task, of in zip(tasks, kept, strict=True)]
    return [_with_translated(measured, encoders, translated.get(measured.task.name)) for measured in plain]


def _with_translated(measured, encoders, translated):
    if translated is None:
        return measured
    (task, done), kept = translated, None if measured.outcomes is None else {}
    figures = _interleave(measured.encoders, _figures(task, encoders, kept))
    return TaskFigures(measured.task, figures, done, None if kept is None else _interleave(measured.outcomes, kept))


def _interleave(plain, translated):
    """Return what each encoder has, followed by what it has with translated questions."""
    pairs = [{name: one, f"{name}{SUFFIX}": translated[name]} for name, one in plain.items()]
    return {name: one for pair in pairs for name, one in pair.items()}


def _figures(task, encoders, kept=None):
    """Return the figures of encoders on a task, and add their questions' scores to `kept`, if it is given."""
    figures = {}
    for name, encoder in encoders.items():
        result = _measure_task(task, name, encoder)
        if kept is not None:
            kept[name] = {metric: _by_question(parts) for metric, parts in task.outcomes(result).items()}
        figures[name] = task.figures(result, name)
    return figures


def _by_question(parts):
    """Return the scores by question, without those that are no numbers: a question that no candidate answers."""
    return {
        part: {
            language: {id: float(score) for id, score in zip(*of, strict=True) if score == score}
            for language, of in rows.items()
        }
        for part, rows in parts.items()
    }


@dataclass(frozen=True)
class ResultPair(Generic[Result]):
    """The results of two encoders on a task."""

    task: Task
    a: Result
    b: Result


def measure_both(names: tuple[str, str], encoders: Mapping[str, Encoder], tasks: Sequence[Task]) -> list[ResultPair]:
    """Measure two encoders on each task. `encoders` is `{name: encoder}`."""
    return [ResultPair(task, *(_measure_task(task, name, encoders[name]) for name in names)) for task in tasks]


def compare_all(
    names: tuple[str, str], results: Sequence[ResultPair], metrics: Sequence[str], draws: int, seed: int
) -> dict[str, Comparisons]:
    """Compare two encoders over all tasks together. Returns comparisons by metric, as `compare_scores` returns them."""
    pairs = {
        metric: {part: rows for of in results for part, rows in pair_scores(of.task, of.a, of.b, metric).items()}
        for metric in metrics
    }
    with progress_of(f"compare {' with '.join(names)}", sum(map(count_comparisons, pairs.values()))) as advance:
        return {
            metric: compare_scores(parts, metric, draws=draws, seed=seed, progress=advance)
            for metric, parts in pairs.items()
        }


def _measure_task(task, name, encoder):
    with progress_of(f"{task.name} {name}", task.size) as advance:
        return task.measure(encoder, advance)


def pair_scores(task: Task, first: Figures, second: Figures, metric: str) -> dict[str, dict[str, Pair]]:
    """Return the scores of two encoders on the same questions, by part of the task, if it has the metric."""
    if not task.has(metric):
        return {}
    a, b = task.scores(first, metric), task.scores(second, metric)
    return {
        part: {language: (ids, values, b[part][language][1]) for language, (ids, values) in by_language.items()}
        for part, by_language in a.items()
    }


def require_one_dimension(encoders: Mapping[str, Encoder]) -> None:
    """Raise `EncoderError` if the encoders, by what the user calls them, differ in dimension; BM25 has no dimension."""
    dimensions = {name: encoder.dimension for name, encoder in encoders.items() if encoder.dimension}
    if len(set(dimensions.values())) > 1:
        (a, first), (b, second) = dimensions.items()
        raise EncoderError(
            f"{a} has {first} dimensions and {b} has {second}, which may explain a difference; "
            "--any-dimension compares them all the same"
        )


@dataclass(frozen=True)
class Difference:
    """A question that only one of two encoders ranks first, with the rank and the first text under A and under B."""

    unit: str
    question: Question
    ranks: tuple[int, int]
    best: tuple[int, int]

    def as_dict(self, dataset: Dataset) -> dict[str, Json]:
        """Return plain values with the texts; `twin` is the question in the documents' language, if the data has it."""
        question, rank = self.question, UNITS_BY_NAME[self.unit].rank
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
