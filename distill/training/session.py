"""The surroundings of a training - its log, checkpoint and scorer - and its schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypedDict

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder
from ..settings.sections import ScorerSettings, TrainingSettings
from ..system.progress import task
from ..system.types import Booleans, Floats, Integers, Role
from .checkpoints import Checkpoint, Numbers
from .log import RunLog

# An evaluation on dev: of which epoch, P@1 and MRR@10, with P@1 by language, or a reader's F1 and exact match, and what
# else was counted.
Scores = TypedDict(
    "Scores",
    {
        "epoch": int,
        "p@1": float,
        "mrr@10": float,
        "languages": dict[str, float],
        "f1": float,
        "em": float,
        "collapsed": float,
        "scale": float,
        "filtered": dict[str, dict[str, int]],
        "quantised": bool,
        "averaged": int,
        "negatives": str,
        "triplets": int,
    },
    total=False,
)
# Scores that a training is judged by, the first before the second.
ScoreName: TypeAlias = Literal["p@1", "mrr@10", "f1", "em"]
JUDGED_BY: tuple[ScoreName, ScoreName] = ("p@1", "mrr@10")
Watch: TypeAlias = Callable[[int, Scores], None]


@dataclass(frozen=True)
class Schedule:
    """The epochs of a training, how often it is scored on dev, and which weights it leaves.

    Attributes:
        epochs: The number of epochs. Each ends with a score; without `ends` the last one alone does, and the last one
            before `quantised` ones.
        patience: The number of evaluations in a row without improvement after which it stops.
        every: The number of steps between further scores.
        quantised: The number of last epochs with rounded weights.
        averaged: The number of last epochs whose mean weights are left in place of the best.
        linear: Whether the learning rate falls evenly (`rates.LearningRateSchedule`), or is halved when dev stalls.
        warmup: The share of all steps over which the learning rate rises.
    """

    epochs: int
    patience: int | None = None
    every: int | None = None
    ends: bool = True
    quantised: int = 0
    averaged: int = 0
    linear: bool = False
    warmup: float = 0.0
    judged_by: tuple[ScoreName, ScoreName] = JUDGED_BY


@dataclass(frozen=True)
class Scorer:
    """An encoder, in any space, whose scores are labels, and the settings of how they are learned."""

    encoder: Encoder
    settings: ScorerSettings

    def vectors(self, texts: Sequence[str], role: Role) -> Floats:
        """Encode texts, with progress. Returns the vectors `(n, d)`."""
        with task(f"vectors of {self.encoder.name}, whose scores are labels", len(texts)) as advance:
            return self.encoder.encode(list(texts), role, advance)


@dataclass(frozen=True)
class ScorerVectors:
    """A scorer's vectors `(n, d)` of questions and of passages. Scores are their products.

    `lines` `(m, d)` are the vectors of stage 2's lines of text, of which there may be none.
    """

    settings: ScorerSettings
    questions: Floats
    passages: Floats
    lines: Floats

    @classmethod
    def of(
        cls, scorer: Scorer, questions: Sequence[str], passages: Sequence[str], lines: Sequence[str] = ()
    ) -> ScorerVectors:
        vectors = scorer.vectors(questions, "question"), scorer.vectors(passages, "document")
        return cls(scorer.settings, *vectors, scorer.vectors(lines, "question") if len(lines) else vectors[0][:0])

    def scores(self, questions: Integers, passages: Integers) -> Floats:
        """Return the scores of questions and passages, `(q, p)` or `(q, n)`.

        Args:
            questions: The rows of the questions, int `(q,)`.
            passages: The rows of the passages, `(p,)` for all pairs, or `(q, n)`. A row below 0 is filling, whose
                scores are arbitrary.
        """
        if passages.ndim == 1:
            return self.questions[questions] @ self.passages[passages].T
        return np.einsum("qd,qnd->qn", self.questions[questions], self.passages[passages])

    def of_lines(self, rows: Integers) -> Floats:
        """Return the scores `(m, m)` of the lines of a step with each other, given their rows."""
        return self.lines[rows] @ self.lines[rows].T

    def false_negatives(self, questions: Integers, positives: Integers, negatives: Integers) -> Booleans:
        """Find negatives whose score is above the positive's by more than the filter's margin.

        Qu et al. (2021), RocketQA, section 3.3, with a bi-encoder as the judge. `positives` are the rows of the
        positives, int `(q,)`. `negatives` are the rows of the negatives, int `(q, n)`. Returns bool `(q, n)`, all false
        without a margin.
        """
        margin = self.settings.filter_margin
        if not margin:
            return np.zeros(negatives.shape, dtype=bool)
        near = self.scores(questions, positives[:, None])
        return (negatives >= 0) & (self.scores(questions, negatives) > near + margin)


@dataclass(frozen=True)
class Session:
    """The surroundings of a training.

    Attributes:
        watch: Called with (step, scores) at each evaluation on dev, also of the start. An exception ends the training.
        checkpoint: Holds the state after each epoch, and within one as often as it is due. A training with a saved
            state goes on from it and ends as if it had not stopped.
        stage: The name in the log, by default that of the stage.
        dev: A data set whose dev questions score the training, None for the one that is trained on.
        scorer: An encoder whose scores stage 1 learns, or None.
    """

    log: RunLog = field(default_factory=RunLog)
    watch: Watch | None = None
    checkpoint: Checkpoint | None = None
    options: TrainingSettings = field(default_factory=TrainingSettings)
    stage: str = ""
    dev: Dataset | None = None
    scorer: Scorer | None = None

    def choose_dev(self, dataset: Dataset, languages: Sequence[str]) -> tuple[Dataset, list[str]]:
        """Return the data set that scores a training, and the languages that its dev has."""
        if self.dev is None:
            return dataset, list(languages)
        return self.dev, [language for language in languages if language in self.dev.questions]

    def keep(self, name: str, epoch: int, make: Callable[[], Sequence[Numbers]]) -> list[Numbers]:
        """Return the rows of an epoch, or other arrays; those of an epoch that was broken off are loaded."""
        return self.checkpoint.keep(name, epoch, make) if self.checkpoint else list(make())


def name_session(stage: str, session: Session | None = None) -> Session:
    session = session or Session()
    return session if session.stage else replace(session, stage=stage)
