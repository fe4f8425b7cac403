"""The task answerable: half of the questions have no answer, and the measure is how well an encoder tells which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder, calibrations_of
from ...errors import InputError
from ...export.encode import Calibration
from ...report.answers import make_answerable_section, print_answerable
from ...report.bias_tables import Section
from ...settings.choices import PASSAGE_SCORES
from ...system.types import Doubles, Json, Progress
from ..calibration import ConfidenceFigures, figures_by_language
from ..evaluate import count_texts
from ..unanswerable import Cases, encode, half_unanswerable_cases, units_of
from .retrieval import RetrievalTask
from .task import Scores, Task, TaskOptions

# Seed of the question ids that are asked without their article.
SEED = 0


@dataclass(frozen=True)
class Confidence:
    """The confidence that each case's first passage answers: a probability with its threshold, or a best score."""

    cases: Cases
    values: Doubles
    threshold: float | None


@dataclass(frozen=True)
class AnswerableTask(Task[Confidence, Mapping[str, ConfidenceFigures]]):
    """The passages of a data set, ranked by one of the scores in `choices.PASSAGE_SCORES`."""

    dataset: Dataset
    languages: tuple[str, ...]
    split: str
    score: str = "sum"
    name = "answerable"
    takes = ("evaluation__score", "split", "report")

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> AnswerableTask:
        """Load a data set. Raises `InputError` if the data cannot be used, or not exactly one known score is given."""
        scores = options.score or ("sum",)
        if len(scores) > 1 or scores[0] not in PASSAGE_SCORES:
            raise InputError(
                f"--score: the task answerable takes one of {', '.join(PASSAGE_SCORES)}, not {','.join(scores)}"
            )
        data = RetrievalTask.read(source, options)
        return cls(*data, options.split, scores[0])

    @property
    def size(self) -> int:
        return count_texts(self.dataset, [self.split], self.languages, units_of([self.score]))

    @property
    def tests(self) -> int:
        return len(self.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> Confidence:
        """Return the confidence in the first passage of each question."""
        encoded = encode(encoder, self.dataset, self.split, self.languages, (self.score,), progress)
        calibration = calibrations_of(encoder).get(self.score)
        return confidence_in(half_unanswerable_cases(encoded, self.score, SEED), calibration)

    def scores(self, result: Confidence, metric: str) -> Scores:
        """Return 1 for each question whose first passage answers it, else 0; only p@1 has scores."""
        if metric != "p@1":
            return {}
        ids = {name: [one.id for one in self.dataset.select(name, self.split)] for name in self.languages}
        cases = result.cases
        right = {name: cases.right[cases.language == name].astype(np.float64) for name in self.languages}
        return {self.name: {name: (ids[name], right[name]) for name in self.languages}}

    def figures(self, result: Confidence, encoder: str) -> Mapping[str, ConfidenceFigures]:
        """Return the figures of each language and, under "all", of all together: `{language: figures}`."""
        return figures_by_language(result.cases, result.values, result.threshold)

    def as_dict(self, encoders: Mapping[str, Mapping[str, ConfidenceFigures]]) -> dict[str, Json]:
        rows: dict[str, Json] = {
            name: {language: asdict(row) for language, row in figures.items()} for name, figures in encoders.items()
        }
        data: dict[str, Json] = {"name": self.dataset.name, "split": self.split, "score": self.score, "seed": SEED}
        return {**data, "encoders": rows, "files": dict(self.dataset.files)}

    def print(self, encoders: Mapping[str, Mapping[str, ConfidenceFigures]]) -> None:
        """Print AUROC and, for calibrated encoders, the figures at the threshold."""
        print_answerable(encoders, f"{self.dataset.name}, {self.split}, score {self.score}")

    def section(self, part: Mapping[str, Json]) -> Section:
        """Return the section of the page with risk-coverage curves and a table."""
        return make_answerable_section(part)


def confidence_in(cases: Cases, calibration: Calibration | None) -> Confidence:
    """Return the confidence in each case. Without a `calibration` the best score is used."""
    if calibration is None:
        return Confidence(cases, np.nan_to_num(cases.first[:, 0].astype(np.float64), nan=-2.0), None)
    return Confidence(cases, calibration.probabilities(cases.first, cases.passages), calibration.threshold)


TASK = AnswerableTask
