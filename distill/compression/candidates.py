"""Candidates of a search: vocabularies and table formats, which need no training, and shapes, which do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..export.weights.codecs import CODECS
from ..students.shape import Shape, limits
from ..students.student import Student
from ..students.vocabulary.vocabularies import NEW, VOCABULARIES
from .budget import Budget

SEARCHED_TABLES = tuple(codec.name for codec in CODECS.values() if codec.searched)
SHAPES = {
    "full": Shape(),
    "small": Shape(channels=128, convolutions=1, hidden=192, inner=256),
    "static": Shape(static=True, rank=256, hidden=256),
    "tiny": Shape(static=True, rank=128, hidden=128),
}
# Of a transformer: one layer of so many stays.
LAYERS = {"half": 2, "quarter": 4}


@dataclass(frozen=True)
class Candidate:
    """One point of the search: keys of `VOCABULARIES`, with or without `NEW`, of a grid's tables and shapes."""

    vocabulary: str
    table: str
    shape: str = "full"
    trained: bool = False

    @property
    def name(self) -> str:
        """Shape, vocabulary and table, and whether it is trained, in one word."""
        return "-".join([self.shape, self.vocabulary, self.table, *(["trained"] if self.trained else [])])


@dataclass(frozen=True)
class Grid:
    """The grid of a search: keys of `VOCABULARIES`, table formats and shapes by name.

    `smallest`, a vocabulary and a table, is the smallest of everything, so that what is left is a shape's own.
    """

    vocabularies: tuple[str, ...] = tuple(VOCABULARIES)
    tables: tuple[str, ...] = SEARCHED_TABLES
    shapes: Mapping[str, Shape] = field(default_factory=lambda: SHAPES)
    smallest: tuple[str, str] = ("twice", "pq8")

    def cheap(self) -> list[Candidate]:
        """All candidates that need no training."""
        return [Candidate(vocabulary, table) for vocabulary in self.vocabularies for table in self.tables]

    def learns(self, shape: str, table: str) -> bool:
        """Return whether a student of this shape can learn with this table."""
        # Codewords are made before training and stay: a static student, which is its table, could hardly learn.
        return CODECS[table].trainable or not self.shapes[shape].static


GRID = Grid()


def grid_of(model: Student) -> Grid:
    """The grid that a search tries on an encoder: of a transformer fewer layers in place of narrower networks."""
    depth = limits(model).get("depth", 0)
    if not depth:
        return GRID
    fewer = {name: Shape(depth=max(1, depth // part)) for name, part in LAYERS.items()}
    return replace(GRID, shapes=fewer | {name: shape for name, shape in GRID.shapes.items() if not shape.convolutions})


def to_train(
    order: Sequence[Candidate],
    speeds: Mapping[str, float],
    sizes: Callable[[Candidate], int],
    budget: Budget,
    new: bool = False,
    grid: Grid = GRID,
) -> dict[str, Candidate | None]:
    """`{shape: Candidate or None}`: the first of `order` that keeps the budget in a shape, None where none does.

    `order`: the cheap candidates, the best first; `speeds`: the ms a query of each shape; `sizes(candidate)`: its
    bytes; `new`: with pieces for new languages; `grid`: what is searched.
    """
    chosen = {}
    for shape, ms in speeds.items():
        options = [
            Candidate(c.vocabulary + NEW * new, c.table, shape, True) for c in order if grid.learns(shape, c.table)
        ]
        fast = budget.ms is None or ms <= budget.ms
        chosen[shape] = next((one for one in options if fast and not _too_large(sizes(one), budget)), None)
    return chosen


def _too_large(size, budget):
    return budget.bytes is not None and size > budget.bytes


def cost(dense: int, whole: int) -> float:
    """The time of an epoch of a shape with so many dense weights, next to one with `whole`: a rough share.

    Products are most of a step; looking up and training the rows is the rest.
    """
    return 0.2 + 0.8 * dense / whole
