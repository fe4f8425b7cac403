"""The interface of an evaluation task: its data, and how figures are computed, shown and compared; and tasks by name.

`choices.TASKS` names modules of this room or of the papers, each of which has its class as `TASK`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

from ...encoders.encoder import Encoder
from ...encoders.removal_fitting import RemovalOptions, Samples
from ...errors import InputError
from ...settings.choices import TASKS
from ...settings.sections import DataSettings
from ...system.extras import has_guest, require_guest
from ...system.types import Doubles, File, Json, Progress
from ..translation import TranslationCounts, TranslationSource

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...report.bias_tables import Section

# Metrics of predicted answers, which need no ranks.
ANSWER_METRICS = ("em", "f1")
# Metrics that count the words of passages, r@<n>kt, begin with this.
RECALL = "r@"
# {part of the task: {language: (question ids (q,), scores as a float array (q,))}}.
Scores: TypeAlias = dict[str, dict[str, tuple[list[str], Doubles]]]
# The result of measuring an encoder, and the figures computed from it.
Result = TypeVar("Result")
Figures = TypeVar("Figures")


@dataclass(frozen=True)
class TaskOptions:
    """The options of a command that tasks are loaded with; each task reads those that it takes.

    Attributes:
        data: The data set of the settings, with its languages and how it is split.
        split: Name of the split.
        units: Names of the units to rank.
        metrics: Names of the metrics.
        samples: Texts that language information removal is fitted on; None for the task's own texts.
        typed: Kinds of noise in `choices.TYPED`.
        removed: How language information is removed; without ranks, the task's own ranks.
        label_column: Heading of the labels.
        reader: The reader of the task reading, as `load_reader` takes it.
        seed: Seed of splits, samples and noise.
        ranked: What is ranked, as in the settings.
        score: How it is scored, as in the settings.

    Example:
        >>> import distill
        >>> options = distill.TaskOptions(distill.Settings().data, metrics=("p@1", "mrr@10"), units=("document",))
        >>> options.split, options.data.dataset
        ('dev', 'sample')
    """

    data: DataSettings
    split: str = "dev"
    units: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    samples: Samples | None = None
    typed: tuple[str, ...] = ()
    removed: RemovalOptions = RemovalOptions(())
    label_column: str = ""
    reader: File | None = None
    seed: int = 0
    ranked: tuple[str, ...] = ()
    score: tuple[str, ...] = ()


class Task(ABC, Generic[Result, Figures]):
    """Loaded data that encoders are measured on.

    Attributes:
        name: Name of the task and of its module, listed in `choices.TASKS`.
        takes: Options of `distill evaluate` that only some tasks take, by their parameters' names.
        needs: Packages of the extra `train` that the figures are computed with.
        judged_by: The metric that two encoders are compared by unless told otherwise.
    """

    name: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    judged_by: ClassVar[str] = "p@1"

    @classmethod
    @abstractmethod
    def load(cls, source: str, options: TaskOptions) -> Self:
        """Load the data. Raises `InputError` if the task cannot use the data; the message names file and place."""

    @classmethod
    def has(cls, metric: str) -> bool:
        """Return True for a metric that `scores` supports; by default every metric of ranks."""
        return not metric.startswith(RECALL) and metric not in ANSWER_METRICS

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of texts that `measure` encodes."""

    @property
    @abstractmethod
    def tests(self) -> int:
        """Return the number of significance tests per metric, not counting the row of all languages."""

    @abstractmethod
    def measure(self, encoder: Encoder, progress: Progress | None = None) -> Result:
        """Encode and rank, for scores and figures; ties count against the encoder. NaN raises `EncoderError`."""

    @abstractmethod
    def scores(self, result: Result, metric: str) -> Scores:
        """Return the score of each question, of which the metric is the mean: `{part: {language: (ids, scores)}}`."""

    @abstractmethod
    def figures(self, result: Result, encoder: str) -> Figures:
        """Return the figures of one encoder."""

    @abstractmethod
    def as_dict(self, encoders: Mapping[str, Figures]) -> dict[str, Json]:
        """Return plain values of the figures, with the data and the hashes of its files, as `--json` writes them."""

    @abstractmethod
    def print(self, encoders: Mapping[str, Figures]) -> None:
        """Print a table of the encoders' figures."""

    def section(self, part: Mapping[str, Json]) -> Section | None:
        """Return the section of the page that `--report` writes from plain values; None if the task has none."""
        return None

    def outcomes(self, result: Result) -> dict[str, Scores]:
        """Return the scores of each question by metric, as `--outcomes` writes them."""
        return {self.judged_by: self.scores(result, self.judged_by)}

    def with_translations(self, translation: TranslationSource, pivot: str) -> tuple[Self, TranslationCounts] | None:
        """Return the task with questions in the documents' language, and counts; None if the task has no questions."""
        return None


# Tasks of the papers, each with its module.
OF_PAPERS = {name: f"papers.tasks.{name}" for name in ("lareqa", "classification", "reading")}


def task_class(name: str) -> type[Task]:
    """Return the class of a task, whose module is imported on demand."""
    return (require_guest(OF_PAPERS[name]) if name in OF_PAPERS else import_module(f".{name}", __package__)).TASK


def list_tasks() -> list[str]:
    return [name for name in TASKS if name not in OF_PAPERS or has_guest(OF_PAPERS[name])]


def tasks_with_option(option: str) -> list[str]:
    """Return the names of the tasks that take an option, given by its parameter's name."""
    return [name for name in list_tasks() if option in task_class(name).takes]


def judging_metrics(names: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics by which named tasks are judged unless told otherwise, each once."""
    return tuple(dict.fromkeys(task_class(name).judged_by for name in names))


def load_tasks(requested: Sequence[tuple[str, str | None]], options: TaskOptions) -> list[Task]:
    """Load tasks of `(name, data or None)`; one without data of its own takes the data set of the settings.

    Raises `InputError` if a task cannot use its data, or none of the tasks has a metric that is asked for.
    """
    classes = [(task_class(name), source) for name, source in requested]
    for metric in options.metrics:
        if not any(task.has(metric) for task, _ in classes):
            named = " and ".join(name for name in list_tasks() if task_class(name).has(metric))
            raise InputError(f"{metric} is not a metric of the tasks that were named; only the task {named} has it")
    return [task.load(source or options.data.dataset, options) for task, source in classes]
