"""The work of `distill evaluate` and `distill compare`: encoders measured on tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from ...encoders.encoder import Encoder
from ...errors import EncoderError
from ...report.bias_tables import print_translated
from ...system.extras import require_training
from ...system.progress import task as progress_of
from ...system.types import Json
from ..paired_comparison import Comparisons, Pair, compare_scores, count_comparisons
from ..translation import SUFFIX, TranslationCounts, TranslationSource
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
