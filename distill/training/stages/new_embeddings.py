"""Train the embeddings of a new language's tokens on lines of text: each line learns the vector of its translation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from keras import ops

from ...data.dataset import Dataset, name_line
from ...encoders.batching import draw_rows
from ...encoders.encoder import KerasEncoder
from ...students.embeddings import UsedRows
from ...system.types import Floats, Integers, Tensor
from ..batches import BatchMaker, StepInput
from ..dev_score import DevScore
from ..loop import fit
from ..losses import in_batch_loss, squared_l2
from ..rates import TableSchedule
from ..session import Schedule, Session, name_session
from ..trainer import Trainer
from .lines import Lines, same_label

EPOCHS, WARMUP = 5, 0.05
# What finding its own label among a step's counts beside the distance to it.
TRANSLATION = 0.1


@dataclass(frozen=True)
class Steps:
    """The number of steps, the lines per step, the highest learning rate, and the seed.

    An embedding's numbers are about .3 in size.
    """

    number: int = 500
    lines: int = 256
    rate: float = 1e-2
    seed: int = 0

    @property
    def epochs(self) -> int:
        """The number of times that the training is scored."""
        return min(EPOCHS, self.number)


def train_new_rows(
    start: KerasEncoder, rows: Integers, lines: Lines, dev: Dataset, steps: Steps, session: Session
) -> KerasEncoder:
    """Train the given embeddings of a copy of an encoder, and nothing else."""
    session = name_session("new rows", session)
    stage = NewRowsStage(start, rows, lines, dev, steps, session)
    schedule = Schedule(epochs=steps.epochs, linear=True, warmup=WARMUP)
    fit(stage.trainer, stage.batches, stage.dev, schedule, session)
    return KerasEncoder(stage.used.restore(start.model), start.tokenizer, start.name)


class NewRowsStage:
    """The lines as ids of the tokens that they use, their dev score, and the trainer."""

    def __init__(
        self,
        start: KerasEncoder,
        rows: Integers,
        lines: Lines,
        dev: Dataset,
        steps: Steps,
        session: Session,
    ) -> None:
        self.steps, self.texts, self.labels = steps, lines.texts, lines.vectors
        self.rows = np.arange(len(lines.texts)) if lines.rows is None else lines.rows
        score = DevScore(start.tokenizer, dev, list(dev.questions), "passage")
        tokens = start.tokenizer.encode(lines.texts, "question")
        self.used = UsedRows(start.model, tokens + score.tokens)
        self.lines, self.dev = self.used.ids(tokens), partial(score.score, self.used)
        groups = np.zeros(len(tokens), np.int64) if lines.groups is None else lines.groups
        chances = np.ones(1) if lines.chances is None else lines.chances
        self.order = draw_rows(groups, chances, steps.number * steps.lines, 0, steps.seed).reshape(-1, steps.lines)
        table_schedule = TableSchedule(rows=np.isin(self.used.rows, rows))
        self.trainer = Trainer(
            self.used.small, line_loss, steps.rate, options=session.options, table_schedule=table_schedule
        )

    def batches(self, epoch: int) -> list[BatchMaker]:
        parts = np.array_split(self.order, self.steps.epochs)[epoch - 1]
        return [
            BatchMaker(partial(self.batch, part), partial(self.ids, part), "distance to labels", ahead=True)
            for part in parts
        ]

    def ids(self, lines: Integers) -> list[str]:
        return [name_line("line", line, self.texts[line]) for line in lines]

    def batch(self, lines: Integers) -> StepInput:
        labels: Floats = self.labels[self.rows[lines]]
        packed = self.used.small.pack([self.lines[line] for line in lines])
        return {**packed, "labels": labels, "same": same_label(labels)}


def line_loss(vectors: Tensor, x: Mapping[str, Tensor]) -> Tensor:
    """Compute the mean squared distance of lines to their labels, and how well each finds its own among them."""
    ranked = in_batch_loss(ops.matmul(vectors, ops.transpose(x["labels"])), x["same"])
    return ops.mean(squared_l2(x["labels"], vectors)) + TRANSLATION * ops.mean(ranked)
