"""The objectives of stage 2: each reads its part of a step, is a term of the loss, and has a name in the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from keras import ops

from ...encoders.encoder import normalise_rows
from ...settings.sections import ScorerSettings
from ...settings.stages import LossSettings, RankingSettings, SoftmaxSettings
from ...students.linear import compute_whitening
from ...system.types import Floats, Integers, Tensor
from ..batches import StepInput
from ..losses import Distance, in_batch_loss, listwise_loss, scorer_loss, transfer_terms
from ..session import ScorerVectors
from .lines import same_label

# The most vectors of questions, of lines and of each unit that a whitening is computed of.
SAMPLED = 20_000


@dataclass(frozen=True)
class Labels:
    """The teacher's vectors on the student's axes, and the rows of those that a sample or a line learns.

    Attributes:
        questions: The vectors of the questions `(q, d)`.
        question: The row of each sample's question, int `(n,)`.
        documents: The vectors of the documents `(m, d)`, one unit's after the other's.
        answers: The rows of the documents that answer each sample, int `(n, units)`.
        lines: The vectors of lines `(k, d)`, none without lines.
        scored: A scorer's vectors of the same texts, if its scores are labels.
    """

    questions: Floats
    question: Integers
    documents: Floats
    answers: Integers
    sizes: Sequence[int]
    lines: Floats
    line: Integers
    scored: ScorerVectors | None = None
    scored_unit: int = 0

    @property
    def firsts(self) -> Integers:
        """The first row of each unit's documents."""
        return np.cumsum([0, *self.sizes[:-1]])

    @property
    def units(self) -> list[Floats]:
        """The vectors of each unit's documents."""
        return np.split(self.documents, self.firsts[1:])

    def compute_whitenings(self, power: float, prefixes: Sequence[int], seed: int) -> list[Floats]:
        """Compute the matrices that even out the space of the labels, see `students.linear.compute_whitening`.

        Questions, lines and each unit count by their number, up to `SAMPLED`, which are drawn. `prefixes` are the
        lengths of vectors that are compared besides whole ones. Returns the matrices, float32 `(k, k)`, that of whole
        vectors last.
        """
        random = np.random.default_rng((seed, 12))
        kinds = self.questions, self.lines, *self.units
        vectors = np.concatenate([each[random.permutation(len(each))[:SAMPLED]] for each in kinds])
        lengths = [*prefixes, vectors.shape[1]]
        matrices = (compute_whitening(normalise_rows(vectors[:, :length]), power) for length in lengths)
        return [matrix.astype(np.float32) for matrix in matrices]


@dataclass(frozen=True)
class Step:
    """The rows that a step learns: of its samples, of its lines, and of the documents that it encodes.

    Its texts come in this order, and so do the vectors of `StepVectors`.

    Attributes:
        samples: The rows of the samples, int `(b,)`.
        lines: The rows of the lines, int `(l,)`.
        documents: The rows of the documents, each once, int `(m,)`; none if no objective compares them.
        answers: The place among `documents` of each answer that is learned, int `(a,)`.
        real: 0.0 for samples that only fill a smaller batch, `(b,)`, or None where batches may have any size.
    """

    labels: Labels
    samples: Integers
    lines: Integers
    documents: Integers
    answers: Integers
    real: Floats | None = None

    @property
    def gold(self) -> Integers:
        """The rows of the documents that answer each sample, int `(b, units)`."""
        return self.labels.answers[self.samples]

    @property
    def line_labels(self) -> Floats:
        """The labels of the lines `(l, d)`."""
        return self.labels.lines[self.labels.line[self.lines]]

    def inputs(self) -> StepInput:
        """Return the labels whose numbers also tell `StepVectors` where questions and lines end."""
        questions = self.labels.questions[self.labels.question[self.samples]]
        written = np.concatenate([questions, self.line_labels]) if len(self.lines) else questions
        x: StepInput = {"teacher_question": written, "teacher_answers": self.labels.documents[self.gold]}
        return x if self.real is None else {**x, "real": self.real}


class StepVectors:
    """The student's vectors of a step, by what they are of, and the inputs `x` that the objectives made of it.

    Attributes:
        questions: The vectors of the questions; `teacher_answers` are the labels of their answers, `(b, units, d)`.
    """

    def __init__(self, every: Tensor, x: Mapping[str, Tensor]):
        self.every, self.x = every, x
        self.count = ops.shape(x["teacher_answers"])[0]
        # Taken once, and first: the order in which gradients are added decides their last bits.
        self.questions = every[: self.count]

    @property
    def written(self) -> Tensor:
        """Vectors of the questions and the lines; `teacher_question` are their labels."""
        return self.every[: ops.shape(self.x["teacher_question"])[0]]

    @property
    def lines(self) -> Tensor:
        return self.every[self.count : ops.shape(self.x["teacher_question"])[0]]

    @property
    def line_labels(self) -> Tensor:
        return self.x["teacher_question"][self.count :]

    @property
    def answers(self) -> Tensor:
        """Vectors of the answers that are learned, one for each label in `teacher_document`."""
        return ops.take(self.every, self.x["document"], axis=0)

    def weigh(self, values: Tensor) -> Tensor:
        """Weigh values, of the samples and perhaps the lines behind them, so that their mean is of the real ones."""
        if "real" not in self.x:
            return values
        real = ops.concatenate([self.x["real"], ops.ones(ops.shape(values)[0] - self.count)])
        return values * ops.reshape(real / ops.mean(real), (-1, *[1] * (len(values.shape) - 1)))


@dataclass(frozen=True)
class Objective:
    """A term of stage 2's loss, with its `name` in the log and its weight.

    `encodes` is true if it needs documents, `of_samples` if it has values of all samples.
    """

    name: str
    weight: float
    encodes: ClassVar[bool] = False
    of_samples: ClassVar[bool] = True

    def inputs(self, step: Step) -> StepInput:
        """Return what the objective reads of a step besides `Step.inputs`."""
        return {}

    def values(self, step: StepVectors) -> Tensor:
        """Return one value for each sample, `(n,)`, whose mean is the term."""
        raise NotImplementedError


@dataclass(frozen=True)
class QuestionDistance(Objective):
    """`qq`: the distance of questions and lines to their labels."""

    distance: Distance

    def values(self, step: StepVectors) -> Tensor:
        """Return one distance per question and line."""
        return self.distance(step.x["teacher_question"], step.written)


@dataclass(frozen=True)
class DocumentDistance(Objective):
    """`dd`: the distance of documents to their labels."""

    distance: Distance
    encodes: ClassVar[bool] = True
    of_samples: ClassVar[bool] = False

    def inputs(self, step: Step) -> StepInput:
        """Return the places of the answers among the texts, and their labels."""
        first = len(step.samples) + len(step.lines)
        labels = step.labels.documents[step.documents[step.answers]]
        return {"document": (first + step.answers).astype(np.int32), "teacher_document": labels}

    def values(self, step: StepVectors) -> Tensor:
        """Return one distance per answer; in batches of rounded shape the filling weighs 0."""
        distances = self.distance(step.x["teacher_document"], step.answers)
        return distances * step.x["document_weights"] if "document_weights" in step.x else distances


@dataclass(frozen=True)
class AnswerDistance(Objective):
    """`dq`: the distance of questions to the labels of the documents that answer them."""

    distance: Distance

    def values(self, step: StepVectors) -> Tensor:
        """Return a distance per question and unit, `(b, units)`."""
        return self.distance(step.x["teacher_answers"], step.questions[:, None])


@dataclass(frozen=True)
class Ranking(Objective):
    """`list`: the student's ranking of all documents against the teacher's, the mean over units of `listwise_loss`."""

    temperature: float
    units: Sequence[Floats]

    @classmethod
    def of(cls, settings: RankingSettings, units: Sequence[Floats]) -> Ranking:
        """Make it of its settings and the vectors of each unit's documents."""
        return cls("list", settings.weight, settings.temperature, units)

    def values(self, step: StepVectors) -> Tensor:
        """Return one value per question and line."""
        losses, written, labels = [], step.written, step.x["teacher_question"]
        for unit in self.units:
            fixed = ops.transpose(ops.convert_to_tensor(unit))
            losses.append(listwise_loss(ops.matmul(written, fixed), ops.matmul(labels, fixed), self.temperature))
        return sum(losses) / len(losses)


@dataclass(frozen=True)
class OwnDocument(Objective):
    """`softmax`: -log softmax of a question's own document, among the first unit's in the step or all of each unit."""

    temperature: float
    among: str
    units: Sequence[Floats]

    @classmethod
    def of(cls, settings: SoftmaxSettings, units: Sequence[Floats]) -> OwnDocument:
        """Make it of its settings and the vectors of each unit's documents."""
        return cls("softmax", settings.weight, settings.temperature, settings.among, units)

    def inputs(self, step: Step) -> StepInput:
        """Return which questions have one answer, and the answers' rows within each unit."""
        first = step.gold[:, 0]
        same = first[:, None] == first[None]
        return {
            # What only fills a batch is no negative.
            "same": same if step.real is None else same | (step.real == 0),
            "gold": (step.gold - step.labels.firsts).astype(np.int32),  # (b, units)
        }

    def values(self, step: StepVectors) -> Tensor:
        """Return one value per question."""
        if self.among == "batch":
            scores = ops.matmul(step.questions, ops.transpose(step.x["teacher_answers"][:, 0]))
            return in_batch_loss(scores, step.x["same"], self.temperature)
        losses = []
        for place, unit in enumerate(self.units):
            scores = ops.matmul(step.questions, ops.transpose(ops.convert_to_tensor(unit))) / self.temperature
            gold = ops.take_along_axis(scores, step.x["gold"][:, place : place + 1], axis=-1)[:, 0]
            losses.append(ops.logsumexp(scores, axis=-1) - gold)
        return sum(losses) / len(losses)


@dataclass(frozen=True)
class Translation(Objective):
    """`translation`: -log softmax of a line's own label among those of the step's lines."""

    temperature: float
    of_samples: ClassVar[bool] = False

    def inputs(self, step: Step) -> StepInput:
        """Return which lines have one label, and are not each other's negatives."""
        return {"same_line": same_label(step.line_labels)} if len(step.lines) else {}

    def values(self, step: StepVectors) -> Tensor:
        """Return one value per line."""
        scores = ops.matmul(step.lines, ops.transpose(step.line_labels))
        return in_batch_loss(scores, step.x["same_line"], self.temperature)


@dataclass(frozen=True)
class ScorerRanking(Objective):
    """`scorer`: `scorer_loss` of a step's questions with its documents, and of its lines with each other.

    The student's scores are products of its vectors and the teacher's, which are fixed.
    """

    settings: ScorerSettings

    def inputs(self, step: Step) -> StepInput:
        """Return the scorer's scores, and the labels of the documents that it ranks."""
        labels = step.labels
        scored = cast(ScorerVectors, labels.scored)
        gold = step.gold[:, labels.scored_unit]
        scores = scored.scores(labels.question[step.samples], gold - labels.firsts[labels.scored_unit])
        x: StepInput = {"scorer": scores, "scored": labels.documents[gold]}
        return x | ({"scorer_lines": scored.of_lines(labels.line[step.lines])} if len(step.lines) else {})

    def values(self, step: StepVectors) -> Tensor:
        """Return one value per question, then one per line."""
        # Slices of its own: the order in which gradients are added decides their last bits.
        step = StepVectors(step.every, step.x)
        parts = [(step.questions, step.x["scored"], step.x["scorer"], step.x.get("real"))]
        if "scorer_lines" in step.x:
            parts.append((step.lines, step.line_labels, step.x["scorer_lines"], None))
        losses = []
        for rows, columns, scores, real in parts:
            diagonal = ops.eye(ops.shape(scores)[0], dtype="bool")
            known = None if real is None else diagonal | (real[None] > 0)
            losses.append(scorer_loss(ops.matmul(rows, ops.transpose(columns)), scores, self.settings, diagonal, known))
        return ops.concatenate(losses)


def list_objectives(
    names: Sequence[str], weights: LossSettings, distance: Distance, labels: Labels | None = None
) -> list[Objective]:
    """List the objectives of stage 2, in the order in which their terms are added.

    Args:
        names: The names of `student.objectives`. "translation" is left out if there are no lines.
        distance: The distance of "qq", "dd" and "dq".
        labels: The labels; "list", "softmax" among all documents, "translation" and the scorer need them.
    """
    units = labels.units if labels else []
    every: list[Objective] = [
        QuestionDistance("qq", weights.qq, distance),
        DocumentDistance("dd", weights.dd, distance),
        AnswerDistance("dq", weights.dq, distance),
        Ranking.of(weights.list, units),
        OwnDocument.of(weights.softmax, units),
    ]
    if labels and len(labels.line):
        every.append(Translation("translation", weights.translation.weight, weights.translation.temperature))
    chosen = [objective for objective in every if objective.name in names]
    return [*chosen, *([ScorerRanking("scorer", 1.0, labels.scored.settings)] if labels and labels.scored else [])]


def compute_terms(
    vectors: Tensor, x: Mapping[str, Tensor], objectives: Sequence[Objective], gamma: float
) -> dict[str, Tensor]:
    """Compute the terms of a batch's loss: CL-ReLKT's Equation 2 and the other objectives that the settings choose."""
    step = StepVectors(vectors, x)
    values = {
        objective.name: step.weigh(values) if objective.of_samples else values
        for objective, values in ((objective, objective.values(step)) for objective in objectives)
    }
    return transfer_terms(values, {objective.name: objective.weight for objective in objectives}, gamma)
