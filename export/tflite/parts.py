"""The parts of a student in its flatbuffer, by name, as they are stored there.

Layers are told by what they are computed from, not by the names of tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...errors import ExportError
from ...system.types import Floats
from .graph import Graph, Product

# Dense layers of a static student, with a window of tokens or without.
STATIC = ("context.first", "context.second", "first", "second", "lift")
HEAD = ("second", "third", "fourth_skip", "fourth")
CONVOLUTIONS = ("first", "second")


@dataclass(frozen=True)
class Parts:
    """The dense layers of a student, and its vectors: gains and biases of normalisations, the bias of pooling.

    A static student has the layers of `STATIC`, the first two where its rows have a context. The other kind has
    `factor` behind a factorised table, "branch0.project", "branch0.first", "branch0.second" and more branches,
    `pooling`, whose product is pooling's and the head's first two, those of `HEAD`, and "projection", or
    "projection.down" and "projection.up".
    """

    products: dict[str, Product]
    vectors: dict[str, Floats]

    @property
    def static(self) -> bool:
        """True of a sum of rows without convolutions."""
        return "lift" in self.products

    @property
    def width(self) -> int:
        """The numbers of a row of the table."""
        return self.products["first" if self.static else "branch0.project"].inputs

    @property
    def size(self) -> int:
        """The number of weights beside the table."""
        layers = sum(one.stored.size + (0 if one.added is None else one.added.size) for one in self.products.values())
        return layers + sum(vector.size for vector in self.vectors.values())

    @property
    def orders(self) -> tuple[int, ...]:
        """The tokens of a window, of each branch, or of the context of a static student's rows."""
        pairs = [("context.first", "first")] if self.static else self._branches
        known = [(before, after) for before, after in pairs if before in self.products]
        return tuple(
            self.products[window].inputs // (self.width if self.static else self.products[rows].outputs)
            for window, rows in known
        )

    @property
    def _branches(self):
        count = sum(name.endswith(".project") for name in self.products)
        return [(f"branch{place}.first", f"branch{place}.project") for place in range(count)]


def parts_of(graph: Graph) -> Parts:
    """Return the parts of a student. Raises `ExportError` for a graph that is none of ours."""
    with as_graph_error():
        if len(graph.products) in (3, len(STATIC)):
            names = STATIC[len(STATIC) - len(graph.products) :]
            return Parts(dict(zip(names, graph.products, strict=True)), {})
        return _ngram(graph)


@contextmanager
def as_graph_error() -> Iterator[None]:
    """Errors of looking for parts where there are none, as `ExportError`."""
    try:
        yield
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error


def _ngram(graph: Graph) -> Parts:
    products, behind = graph.products, graph.behind
    (tanh,) = (operator for operator in graph.operators if operator.name == "TANH")
    inside = behind(tanh.inputs[0])
    # Of two that are computed from the same, `third` has the ReLU.
    order = sorted(inside, key=lambda place: (len(behind(products[place].start)), not products[place].relu))
    pooling, *head = order[-5:]
    layers = {name: products[place] for name, place in zip(HEAD, head, strict=True)}
    layers |= _projection([product for place, product in enumerate(products) if place not in inside])
    branches = _branches(graph, products[pooling])
    layers |= branches.products | {"pooling": products[pooling]}
    return Parts(layers, branches.vectors | {"pooling.offset": _counted(graph, pooling)})


def _projection(products: Sequence[Product]) -> dict[str, Product]:
    names = ("projection",) if len(products) == 1 else ("projection.down", "projection.up")
    return dict(zip(names, products, strict=True)) if products else {}


def _counted(graph: Graph, place: int) -> Floats:
    """The bias of pooling, which is added once a token."""
    inside = graph.behind(graph.products[place].end)
    sums = (one for one in graph.operators if one.name == "ADD" and graph.behind(one.outputs[0]) == inside)
    counted = (graph.producer(tensor) for one in sums for tensor in one.inputs if not graph.behind(tensor))
    vectors = (graph.real(tensor) for one in counted if one and one.name == "MUL" for tensor in one.inputs)
    # The converter leaves out what adds zeros.
    zeros = np.zeros(graph.products[place].outputs, np.float32)
    return next((vector for vector in vectors if vector is not None), zeros)


def _branches(graph: Graph, pooling: Product) -> Parts:
    products, behind, inside = graph.products, graph.behind, graph.behind(pooling.start)
    # The last one before pooling: those of windows lie behind it.
    joined = [one for one in graph.operators if one.name == "CONCATENATION" and behind(one.outputs[0]) == inside][-1]
    rows, *ends = joined.inputs
    layers = dict(zip(("factor",), (products[place] for place in behind(rows)), strict=False))
    vectors = _norm(graph, "norm", inside, pooling.inputs)
    for number, end in enumerate(ends):
        name, places = f"branch{number}", sorted(behind(end), key=lambda place: len(behind(products[place].start)))
        names = ("project", *CONVOLUTIONS)[: len(places)]
        layers |= {f"{name}.{part}": products[place] for part, place in zip(names, places, strict=True)}
        vectors |= _norm(graph, f"{name}.norm", frozenset(places[:1]), products[places[0]].outputs)
    return Parts(layers, vectors)


def _norm(graph: Graph, name: str, inside: frozenset[int], size: int) -> dict[str, Floats]:
    """Gain and bias of the normalisation of what these products alone are in; a converter leaves out ones and zeros."""
    ends, parts = {graph.products[place].end for place in inside}, {}
    steps = (one for one in graph.operators if one.name in ("MUL", "ADD") and one.outputs[0] not in ends)
    for one in (one for one in steps if graph.behind(one.outputs[0]) == inside):
        for array in map(graph.real, one.inputs):
            if array is not None and array.size == size:
                parts[one.name] = array
    ones = np.ones(size, np.float32)
    return {f"{name}.gamma": parts.get("MUL", ones), f"{name}.beta": parts.get("ADD", np.zeros_like(ones))}
