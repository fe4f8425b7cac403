"""Candidates of a search, and their material: vocabularies and table formats need no training, and shapes do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...data.dataset import Dataset
from ...encoders.encoder import Encoder, KerasEncoder
from ...export.weights.codecs import CODECS
from ...students.project import find_axes, on_axes
from ...students.shape import Shape, find_limits
from ...students.student import Student
from ...students.vocabulary.pruning import group_texts
from ...students.vocabulary.vocabularies import NEW, VOCABULARIES, Vocabularies
from ...system.progress import task
from ...training.session import Session
from ...training.stages.lines import label_corpus, mix_lines
from ...training.stages.student_job import StudentJob
from ...training.stages.targets import Targets
from .budget import Budget

SEARCHED_TABLES = tuple(codec.name for codec in CODECS.values() if codec.searched)
SHAPES = {
    "full": Shape(),
    "small": Shape(channels=128, convolutions=1, hidden=192, inner=256),
    "static": Shape(static=True, rank=256, hidden=256),
    "tiny": Shape(static=True, rank=128, hidden=128),
}
# Shapes of a transformer keep one layer out of so many.
LAYERS = {"half": 2, "quarter": 4}


@dataclass(frozen=True)
class Candidate:
    """One point of the search: a key of `VOCABULARIES`, with or without `NEW`, a table, and a shape of the grid."""

    vocabulary: str
    table: str
    shape: str = "full"
    trained: bool = False

    @property
    def name(self) -> str:
        """Return shape, vocabulary and table, and whether the candidate is trained, in one word."""
        return "-".join([self.shape, self.vocabulary, self.table, *(["trained"] if self.trained else [])])


@dataclass(frozen=True)
class Grid:
    """The grid of a search.

    Attributes:
        vocabularies: Keys of `VOCABULARIES`.
        shapes: `{name: shape}`.
        smallest: The vocabulary and the table that are smallest, with which a shape's own size is measured.
    """

    vocabularies: tuple[str, ...] = tuple(VOCABULARIES)
    tables: tuple[str, ...] = SEARCHED_TABLES
    shapes: Mapping[str, Shape] = field(default_factory=lambda: SHAPES)
    smallest: tuple[str, str] = ("twice", "pq8")

    def untrained_candidates(self) -> list[Candidate]:
        """Return all candidates that need no training."""
        return [Candidate(vocabulary, table) for vocabulary in self.vocabularies for table in self.tables]

    def can_learn(self, shape: str, table: str) -> bool:
        """Return True if a student of a shape can learn with a table format."""
        # Codewords are made before training and stay, so a static student, which is only a table, could hardly learn.
        return CODECS[table].trainable or not self.shapes[shape].static


GRID = Grid()


def choose_grid(model: Student) -> Grid:
    """Return the grid that a search tries on an encoder; for a transformer it has fewer layers in place of widths."""
    depth = find_limits(model).get("depth", 0)
    if not depth:
        return GRID
    fewer = {name: Shape(depth=max(1, depth // part)) for name, part in LAYERS.items()}
    return replace(GRID, shapes=fewer | {name: shape for name, shape in GRID.shapes.items() if not shape.convolutions})


def choose_to_train(
    order: Sequence[Candidate],
    speeds: Mapping[str, float],
    sizes: Callable[[Candidate], int],
    budget: Budget,
    new: bool = False,
    grid: Grid = GRID,
) -> dict[str, Candidate | None]:
    """Choose the candidate to train in each shape: the first that keeps the budget, or None.

    `speeds` are milliseconds per query by shape, and `sizes` gives a candidate's bytes.
    """
    chosen = {}
    for shape, ms in speeds.items():
        options = [
            Candidate(c.vocabulary + NEW * new, c.table, shape, True) for c in order if grid.can_learn(shape, c.table)
        ]
        fast = budget.ms is None or ms <= budget.ms
        chosen[shape] = next((one for one in options if fast and not _too_large(sizes(one), budget)), None)
    return chosen


def _too_large(size, budget):
    return budget.bytes is not None and size > budget.bytes


def relative_cost(dense: int, whole: int) -> float:
    """Estimate the time of an epoch, as a share of that of the whole student.

    Matrix products take most of a step; looking up and training the table's rows takes the rest.
    """
    return 0.2 + 0.8 * dense / whole


@dataclass(frozen=True)
class Material:
    """The resources that the candidates of a search are made of and learn from.

    The targets are computed once. They are the teacher's vectors of all that the job learns from, and the student's
    vectors of the train questions and the corpus. New languages are left to the teacher alone, as the student hardly
    knows their tokens. `first` is the encoder that the student was made of, whose tokens are not new.
    """

    words: Vocabularies
    job: StudentJob
    targets: Targets
    first: KerasEncoder

    @classmethod
    def of(cls, words: Vocabularies, job: StudentJob, teacher: Encoder, first: KerasEncoder | None = None) -> Material:
        """Encode the student's texts by the student, and all that the job learns by the teacher."""
        known = [line for line in words.counted if line.kind != "passage" and line.language not in words.new]
        with task("the student's vectors of questions and the corpus", len(known)) as advance:
            lines = label_corpus(group_texts(known), words.student, advance)
        if translated := job.lines(teacher):
            axes = find_axes(words.student.model)
            lines = mix_lines(lines, replace(translated, vectors=on_axes(translated.vectors, axes)))
        return cls(words, job, job.targets(teacher, lines), first or words.student)

    def start(self, encoder: KerasEncoder, shape: Shape, seed: int = 0) -> KerasEncoder:
        """Return an encoder cut to a shape, whose smaller dimension has axes of the teacher's document vectors."""
        return self.words.start(encoder, shape, self.targets.documents, seed)

    def train(self, start: KerasEncoder, job: StudentJob, session: Session | None = None) -> KerasEncoder:
        """Train a candidate by its stage 2: towards the fixed teacher, and the student on questions and corpus."""
        student = job.train(self.targets, start, self.first, session)
        return KerasEncoder(student.model, student.tokenizer, start.name)


def cut_to_shape(
    encoder: KerasEncoder, shape: Shape, dataset: Dataset, languages: Sequence[str], seed: int = 0
) -> KerasEncoder:
    """Return an encoder cut to a shape on the train questions and the passages of a data set.

    Its own vectors of the passages span the axes of a smaller dimension.
    """
    shape.check(encoder.model)
    vectors = encoder.encode(dataset.passage_texts, "document") if shape.dimension else None
    return Vocabularies(encoder, dataset, languages, {}).start(encoder, shape, vectors, seed)
