"""The work of `distill evaluate` and `distill compare`: encoders on tasks."""

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
from ..paired import Comparisons, Pair, compare_scores, comparisons
from ..translation import SUFFIX, Translated, Translation
from .task import Figures, Result, Task


@dataclass(frozen=True)
class Measured(Generic[Figures]):
    """The figures of encoders, by name, on a task; `translated` where some have translated questions."""

    task: Task
    encoders: dict[str, Figures]
    translated: Translated | None = None

    def as_dict(self) -> dict[str, Json]:
        """Plain values, as `--json` writes them."""
        return {**self.task.as_dict(self.encoders), **(self.translated.as_dict() if self.translated else {})}

    def print(self) -> None:
        """Print the task's tables."""
        self.task.print(self.encoders)
        if self.translated:
            print_translated(self.task.name, self.translated)


def measure_all(
    models: Sequence[str],
    tasks: Sequence[Task],
    load: Callable[[str], Encoder],
    translation: Translation | None = None,
    pivot: str = "en",
) -> list[Measured]:
    """Measure the encoders that `models` name on each task; `load(model)` gives the encoder that a name stands for.

    With a `translation` into the language `pivot` each encoder is measured again with translated questions, as
    "NAME, translated"; what that raises is raised before anything is measured.
    """
    require_training(*(package for task in tasks for package in task.needs))
    encoders = {model: load(model) for model in models}
    # A wrong translation is to show before the time of the measuring, a wrong model before that of a translator.
    translated = {task.name: task.translated(translation, pivot) for task in tasks} if translation else {}
    plain = [Measured(task, _figures(task, encoders)) for task in tasks]
    return [_with_translated(measured, encoders, translated.get(measured.task.name)) for measured in plain]


def _with_translated(measured, encoders, translated):
    if translated is None:
        return measured
    task, done = translated
    again = _figures(task, encoders)
    pairs = [{name: figures, f"{name}{SUFFIX}": again[name]} for name, figures in measured.encoders.items()]
    return Measured(measured.task, {name: figures for pair in pairs for name, figures in pair.items()}, done)


def _figures(task, encoders):
    return {name: task.figures(_measured(task, name, encoder), name) for name, encoder in encoders.items()}


@dataclass(frozen=True)
class Both(Generic[Result]):
    """The results of two encoders, `a` and `b`, on a task."""

    task: Task
    a: Result
    b: Result


def measure_both(names: tuple[str, str], encoders: Mapping[str, Encoder], tasks: Sequence[Task]) -> list[Both]:
    """Measure two encoders, by what the user calls them, on each task."""
    return [Both(task, *(_measured(task, name, encoders[name]) for name in names)) for task in tasks]


def compare_all(
    names: tuple[str, str], results: Sequence[Both], metrics: Sequence[str], draws: int, seed: int
) -> dict[str, Comparisons]:
    """`{metric: what compare_scores gives}` of two encoders over all tasks together."""
    pairs = {
        metric: {part: rows for of in results for part, rows in paired(of.task, of.a, of.b, metric).items()}
        for metric in metrics
    }
    with progress_of(f"compare {' with '.join(names)}", sum(map(comparisons, pairs.values()))) as advance:
        return {
            metric: compare_scores(parts, metric, draws=draws, seed=seed, progress=advance)
            for metric, parts in pairs.items()
        }


def _measured(task, name, encoder):
    with progress_of(f"{task.name} {name}", task.size) as advance:
        return task.measure(encoder, advance)


def paired(task: Task, first: Figures, second: Figures, metric: str) -> dict[str, dict[str, Pair]]:
    """`{part of the task: {language: (ids, a, b)}}` of two encoders' results: what `compare_scores` takes."""
    if not task.has(metric):
        return {}
    a, b = task.scores(first, metric), task.scores(second, metric)
    return {
        part: {language: (ids, values, b[part][language][1]) for language, (ids, values) in by_language.items()}
        for part, by_language in a.items()
    }


def require_one_dimension(encoders: Mapping[str, Encoder]) -> None:
    """Raise `EncoderError` where the encoders, by what the user calls them, differ in dimension; BM25 has none."""
    dimensions = {name: encoder.dimension for name, encoder in encoders.items() if encoder.dimension}
    if len(set(dimensions.values())) > 1:
        (a, first), (b, second) = dimensions.items()
        raise EncoderError(
            f"{a} has {first} dimensions and {b} has {second}, which may explain a difference; "
            "--any-dimension compares them all the same"
        )
