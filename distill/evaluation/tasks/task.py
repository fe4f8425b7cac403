"""An evaluation task: data that an encoder is measured on, and how its figures are computed, shown and compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

from ...encoders.encoder import Encoder
from ...settings.sections import DataSettings
from ...system.types import Doubles, Json, Progress
from ..bias.analyses import Samples
from ..bias.fitting import Removed
from ..translation import Translated, Translation

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...reading.reader import Reader
    from ...report.bias_sections import Section

# Of answers that are read, and of no rank.
ANSWERS = ("em", "f1")
# The beginning of the metrics that count the words of passages, r@<n>kt.
RECALL = "r@"
# By part of the task, then by language: the questions' ids `(q,)` and their scores, float `(q,)`.
Scores: TypeAlias = dict[str, dict[str, tuple[list[str], Doubles]]]
# What an encoder's vectors give, and its figures.
Result = TypeVar("Result")
Figures = TypeVar("Figures")


@dataclass(frozen=True)
class TaskOptions:
    """The options of a command that tasks are loaded with; each task reads those that it `takes`.

    `data` says which languages are asked in, and of a data set how it is split, with the `seed`; `ranked` and `score`
    are those of the settings. `samples` are what language information removal is fitted on, None for the task's own
    texts, and `removed` says how it is done, without ranks as the task does; `typed` are kinds of `choices.TYPED`;
    `label_column` is a heading; the `reader` is that of the task reading.
    """

    data: DataSettings
    split: str = "dev"
    units: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    samples: Samples | None = None
    typed: tuple[str, ...] = ()
    removed: Removed = Removed(())
    label_column: str = ""
    reader: Reader | None = None
    seed: int = 0
    ranked: tuple[str, ...] = ()
    score: tuple[str, ...] = ()


class Task(ABC, Generic[Result, Figures]):
    """Loaded data that encoders are measured on; `name` is that of its module, and stands in `choices.TASKS`.

    `takes` are the options of `distill evaluate` that only some tasks take, by their parameters' names; `needs` the
    packages of the extra `train` that its `figures` are computed with.
    """

    name: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def load(cls, source: str, options: TaskOptions) -> Self:
        """Read the data. Raises `InputError` for data that the task cannot take, naming file and place."""

    @classmethod
    def has(cls, metric: str) -> bool:
        """True of a metric that `scores` gives: of ranks; recall by tokens is of passages alone."""
        return not metric.startswith(RECALL) and metric not in ANSWERS

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of texts that `measure` encodes."""

    @property
    @abstractmethod
    def tests(self) -> int:
        """The number of comparisons of two encoders that a metric makes, those of all languages apart."""

    @abstractmethod
    def measure(self, encoder: Encoder, progress: Progress | None = None) -> Result:
        """Encode and rank; ties count against the encoder. Raises `EncoderError` for vectors that are no numbers."""

    @abstractmethod
    def scores(self, result: Result, metric: str) -> Scores:
        """Each question's score, of which the metric is the mean."""

    @abstractmethod
    def figures(self, result: Result, encoder: str) -> Figures:
        """The figures of one encoder; `encoder` is what progress calls it."""

    @abstractmethod
    def as_dict(self, encoders: Mapping[str, Figures]) -> dict[str, Json]:
        """Plain values of the `figures` of encoders, with the data and its files' hashes, as `--json` writes them."""

    @abstractmethod
    def print(self, encoders: Mapping[str, Figures]) -> None:
        """Print a table of the `figures` of encoders."""

    def section(self, part: Mapping[str, Json]) -> Section | None:
        """A section of the page that `--report` writes, of what `as_dict` gives; None where the task has none."""
        return None

    def translated(self, translation: Translation, pivot: str) -> tuple[Self, Translated] | None:
        """The task with its questions in the language `pivot`; None of a task without questions."""
        return None
