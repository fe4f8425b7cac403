"""The parts of a student in its flatbuffer, by name, as they are stored there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...errors import ExportError
from ...system.types import Floats, Json
from ..families.registry import owner
from .graph import Graph, Product


@dataclass(frozen=True)
class Parts:
    """The dense layers of a student, and its vectors, such as gains and biases of normalisations.

    `family` names the folder in `export/families/` that found them, whose `stored.py` says which there are; `width` is
    the numbers of a row of the table, `orders` the tokens of each window, `last` the layer that gives the vectors.
    `settings` are what the arrays do not say.
    """

    family: str
    products: dict[str, Product]
    vectors: dict[str, Floats]
    width: int
    orders: tuple[int, ...]
    last: str
    settings: Mapping[str, Json] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of weights beside the table."""
        layers = sum(one.stored.size + (0 if one.added is None else one.added.size) for one in self.products.values())
        return layers + sum(vector.size for vector in self.vectors.values())


def parts_of(graph: Graph) -> Parts:
    """Return the parts of a student. Raises `ExportError` for a graph that is none of ours."""
    with as_graph_error():
        return owner("stored", lambda family: family.owns(graph)).parts_of(graph)


@contextmanager
def as_graph_error() -> Iterator[None]:
    """Errors of looking for parts where there are none, as `ExportError`."""
    try:
        yield
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error
