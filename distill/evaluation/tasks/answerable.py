"""The task answerable: passages for questions of which half have no answer, and how well an encoder tells which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder
from ...errors import InputError
from ...export.encode import Calibration
from ...report.answered import answerable_section, print_answerable
from ...report.bias_sections import Section
from ...settings.choices import PASSAGE_SCORES
from ...system.types import Doubles, Json, Progress
from ..calibration import Judged, by_language
from ..evaluate import evaluation_size
from ..unanswerable import Cases, encode, half_without, units_of
from .retrieval import RetrievalTask
from .task import Scores, Task, TaskOptions

# Of the questions' ids, half of which have no answer.
SEED = 0


@dataclass(frozen=True)
class Confidence:
    """A case of each question and the confidence `(n,)` in it: a probability, or where none is known the best score.

    `threshold` is None without probabilities.
    """

    cases: Cases
    values: Doubles
    threshold: float | None


@dataclass(frozen=True)
class AnswerableTask(Task[Confidence, Mapping[str, Judged]]):
    """The passages of a `Dataset` by a score of `PASSAGE_SCORES`."""

    dataset: Dataset
    languages: tuple[str, ...]
    split: str
    score: str = "sum"
    name = "answerable"
    takes = ("evaluation__score", "split", "report")

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> AnswerableTask:
        """As `Task.load`; raises `InputError` for another score, or for more than one."""
        scores = options.score or ("sum",)
        if len(scores) > 1 or scores[0] not in PASSAGE_SCORES:
            raise InputError(
                f"--score: the task answerable takes one of {', '.join(PASSAGE_SCORES)}, not {','.join(scores)}"
            )
        data = RetrievalTask.read(source, options)
        return cls(*data, options.split, scores[0])

    @property
    def size(self) -> int:
        """As `Task.size`."""
        return evaluation_size(self.dataset, [self.split], self.languages, units_of([self.score]))

    @property
    def tests(self) -> int:
        """As `Task.tests`."""
        return len(self.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> Confidence:
        """The confidence in the first passage of each question."""
        encoded = encode(encoder, self.dataset, self.split, self.languages, (self.score,), progress)
        return confidence_in(half_without(encoded, self.score, SEED), calibration_of(encoder, self.score))

    def scores(self, result: Confidence, metric: str) -> Scores:
        """One part, by language: 1 where the first passage answers; nothing of other metrics than p@1."""
        if metric != "p@1":
            return {}
        ids = {name: [one.id for one in self.dataset.select(name, self.split)] for name in self.languages}
        cases = result.cases
        right = {name: cases.right[cases.language == name].astype(np.float64) for name in self.languages}
        return {self.name: {name: (ids[name], right[name]) for name in self.languages}}

    def figures(self, result: Confidence, encoder: str) -> Mapping[str, Judged]:
        """By language, and of `all`."""
        return by_language(result.cases, result.values, result.threshold)

    def as_dict(self, encoders: Mapping[str, Mapping[str, Judged]]) -> dict[str, Json]:
        """As `Task.as_dict`."""
        rows: dict[str, Json] = {
            name: {language: asdict(row) for language, row in figures.items()} for name, figures in encoders.items()
        }
        data: dict[str, Json] = {"name": self.dataset.name, "split": self.split, "score": self.score, "seed": SEED}
        return {**data, "encoders": rows, "files": dict(self.dataset.files)}

    def print(self, encoders: Mapping[str, Mapping[str, Judged]]) -> None:
        """Print AUROC, and of calibrated encoders what holds at the threshold."""
        print_answerable(encoders, f"{self.dataset.name}, {self.split}, score {self.score}")

    def section(self, part: Mapping[str, Json]) -> Section:
        """The curves of risk and coverage, and a table."""
        return answerable_section(part)


def calibration_of(encoder: Encoder, score: str) -> Calibration | None:
    """The calibration of a score that a bundle's card has, None where there is none."""
    known: Mapping[str, Calibration] = getattr(encoder, "calibrations", {})
    return known.get(score)


def confidence_in(cases: Cases, calibration: Calibration | None) -> Confidence:
    """The confidence of cases, by a calibration where there is one."""
    if calibration is None:
        return Confidence(cases, np.nan_to_num(cases.first[:, 0].astype(np.float64), nan=-2.0), None)
    return Confidence(cases, calibration.probabilities(cases.first), calibration.threshold)


TASK = AnswerableTask
