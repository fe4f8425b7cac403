"""The labels of stage 2: a fixed teacher's vectors, computed once, and the rows of them that each sample learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...data.dataset import Dataset, Question
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import ConfigError, EncoderError
from ...settings.rules import parse_numbers
from ...students.project import find_axes, on_axes
from ...system.types import Floats, Integers, Progress
from ..session import Scorer, ScorerVectors
from .lines import Lines, line_targets
from .objectives import Labels


@dataclass(frozen=True)
class Targets:
    """The teacher's vectors, computed once.

    Attributes:
        questions: The vectors of the train questions `(q, d)`.
        texts: The documents `(n,)`. With both units whole documents come first, then passages.
        documents: The vectors of the documents `(n, d)`.
        lines: More texts for objective 1.
        scored: Another encoder's vectors of the same texts, whose scores are labels too.
        trained: The tokens whose embeddings alone are trained, int `(m,)`, or None for all weights.
    """

    row: Mapping[str, int]
    questions: Floats
    texts: Sequence[str]
    documents: Floats
    lines: Lines | None = None
    scored: ScorerVectors | None = None
    trained: Integers | None = None

    @classmethod
    def of(
        cls,
        teacher: Encoder,
        dataset: Dataset,
        language: str,
        units: Sequence[str],
        lines: Lines | None = None,
        progress: Progress | None = None,
    ) -> Targets:
        """Encode the train questions and the documents by the teacher."""
        questions = dataset.select(language, "train")
        row = {question.id: number for number, question in enumerate(questions)}
        labels = np.zeros((0, teacher.dimension), dtype=np.float32)
        texts = [text for unit in units for text in dataset.texts(unit)]
        # First, as the longest text sets the widths of a compiled program.
        documents = teacher.encode(texts, "document", progress)
        if questions:
            labels = teacher.encode([question.text for question in questions], "question", progress)
        return cls(row, labels, texts, documents, lines)


def add_scores(
    targets: Targets, scorer: Scorer | None, dataset: Dataset, language: str, units: Sequence[str]
) -> Targets:
    """Add a scorer's vectors to targets: of the units that of `scored_unit` alone."""
    if scorer is None:
        return targets
    questions = [question.text for question in dataset.select(language, "train")]
    lines = targets.lines.pivots if targets.lines else ()
    return replace(targets, scored=ScorerVectors.of(scorer, questions, dataset.texts(units[scored_unit(units)]), lines))


def scored_unit(units: Sequence[str]) -> int:
    """Return the place of the unit that a scorer ranks: passages if they are learned, because it may cut long
    documents.
    """
    return units.index("passage") if "passage" in units else 0


def answering_documents(dataset: Dataset, passages: Integers, units: Sequence[str]) -> Integers:
    """Return the rows in `Targets.documents` of those that answer questions, int `(n, units)`."""
    columns, first = [], 0
    for unit in units:
        columns.append(first + (dataset.document_of[passages] if unit == "document" else passages))
        first += len(dataset.texts(unit))
    return np.stack(columns, axis=1)


def make_labels(
    targets: Targets, start: KerasEncoder, dataset: Dataset, samples: Sequence[Question], units: Sequence[str]
) -> Labels:
    """Put a teacher's vectors on a student's axes, and find the rows that each sample and each line learns."""
    axes, lines = find_axes(start.model), targets.lines
    passages = np.array([question.passage for question in samples], dtype=np.int64)
    documents = on_axes(targets.documents, axes)
    return Labels(
        questions=on_axes(targets.questions, axes),
        question=np.array([targets.row[question.id] for question in samples], dtype=np.int64),
        documents=documents,
        answers=answering_documents(dataset, passages, units),
        sizes=[len(dataset.texts(unit)) for unit in units],
        lines=line_targets(lines, start) if lines else documents[:0],
        line=lines.label_rows if lines else np.zeros(0, dtype=np.int64),
        scored=targets.scored,
        scored_unit=scored_unit(units),
    )


def require_dimension(dimension: int, start: KerasEncoder) -> None:
    """Require that a teacher's dimension is that of the student's space. Raises `EncoderError` if it is not."""
    space = start.model.label_dimension
    if dimension != space:
        raise EncoderError(
            f"the teacher's vectors have {dimension} dimensions and the student's {space}; "
            "start the student from an encoder of the teacher's dimension"
        )


def require_prefixes(nested: Sequence[str], dimension: int) -> tuple[int, ...]:
    """Read the lengths of `student.nested`. Raises `ConfigError` for one that leaves nothing of the vectors out."""
    lengths = parse_numbers(nested, "student.nested")
    if too_long := [length for length in lengths if length >= dimension]:
        raise ConfigError(
            f"student.nested: the student's vectors have {dimension} dimensions, expected smaller numbers, got "
            f"{', '.join(map(str, too_long))}"
        )
    return lengths
