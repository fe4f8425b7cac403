"""Candidates of a search: vocabularies and table formats, which need no training, and shapes, which do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...export.weights.codecs import CODECS
from ...students.shape import Shape, find_limits
from ...students.student import Student
from ...students.vocabulary.vocabularies import NEW, VOCABULARIES
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
