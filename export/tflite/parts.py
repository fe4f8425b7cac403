"""Find the parts of a student in its flatbuffer, by name, as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...errors import ExportError
from ...system.types import Floats, Json
from ..families.registry import find_owner
from .graph import Graph, Product


@dataclass(frozen=True)
class Parts:
    """The dense layers and vectors of a student, named as the `stored.py` of its `family` documents."""

    family: str
    products: dict[str, Product]
    vectors: dict[str, Floats]
    width: int
    orders: tuple[int, ...]
    last: str
    settings: Mapping[str, Json] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of weights, without the table."""
        layers = sum(one.stored.size + (0 if one.added is None else one.added.size) for one in self.products.values())
        return layers + sum(vector.size for vector in self.vectors.values())


def parts_of(graph: Graph) -> Parts:
    """Find the parts of a student in its graph. Raises `ExportError` if the graph is not a student's."""
    with as_graph_error():
        return find_owner("stored", lambda family: family.owns(graph)).parts_of(graph)


@contextmanager
def as_graph_error() -> Iterator[None]:
    """Raise errors of looking for missing parts as `ExportError`."""
    try:
        yield
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error
