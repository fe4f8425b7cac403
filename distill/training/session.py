"""The company of a training, and its epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypedDict

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder
from ..settings.sections import ScorerSettings, TrainingSettings
from ..system.progress import task
from ..system.types import Floats, Integers, Role
from .checkpoints import Checkpoint
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

    It is scored at the end of each epoch, and each `every` steps. With `patience` it stops after so many evaluations in
    a row that are no better. The last `quantised` of the epochs train and are scored with rounded weights; with
    `averaged` the mean of the weights after that many epochs is left in place of the best. The learning rate rises over
    the share `warmup` of all steps; then it is halved when dev stalls, or with `linear` falls evenly (`rates.Pace`).
    Weights are the better the greater the first of `judged_by` is on dev, among equal ones the second.
    """

    epochs: int
    patience: int | None = None
    every: int | None = None
    quantised: int = 0
    averaged: int = 0
    linear: bool = False
    warmup: float = 0.0
    judged_by: tuple[ScoreName, ScoreName] = JUDGED_BY


@dataclass(frozen=True)
class Scorer:
    """An encoder whose scores are labels, in whatever space, and what of them is learned."""

    encoder: Encoder
    settings: ScorerSettings

    def vectors(self, texts: Sequence[str], role: Role) -> Floats:
        """The vectors `(n, d)` of texts in a role, with progress."""
        with task(f"vectors of {self.encoder.name}, whose scores are labels", len(texts)) as advance:
            return self.encoder.encode(list(texts), role, advance)


@dataclass(frozen=True)
class Session:
    """The company of a training: its log, who watches it, where it goes on after a stop, and how steps are computed.

    `watch(step, scores)` is called at each evaluation on dev, also of the start; what it raises ends the training.
    A `checkpoint` holds the training's state after each epoch, and within one as often as it is due; where it holds one
    already, training goes on from there and ends as if it had not stopped. `stage` is the name in the log, by default
    that of the stage which trains. `dev` is a data set whose dev questions score the training, None for that which is
    trained on. Stage 1 learns from the scores of the `scorer`, where there is one.
    """

    log: RunLog = field(default_factory=RunLog)
    watch: Watch | None = None
    checkpoint: Checkpoint | None = None
    options: TrainingSettings = field(default_factory=TrainingSettings)
    stage: str = ""
    dev: Dataset | None = None
    scorer: Scorer | None = None

    def scored_on(self, dataset: Dataset, languages: Sequence[str]) -> tuple[Dataset, list[str]]:
        """The data set that scores the training of `dataset`, and those of `languages` that its dev has."""
        if self.dev is None:
            return dataset, list(languages)
        return self.dev, [language for language in languages if language in self.dev.questions]

    def kept(self, name: str, epoch: int, make: Callable[[], Sequence[Integers]]) -> list[Integers]:
        """The rows that `make` gives for an epoch: of one that was broken off those that were made then."""
        return self.checkpoint.kept(name, epoch, make) if self.checkpoint else list(make())


def session_of(stage: str, session: Session | None = None) -> Session:
    """The session of a stage, by default one without company; it has the stage's name unless it has another."""
    session = session or Session()
    return session if session.stage else replace(session, stage=stage)
