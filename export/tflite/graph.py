"""Read the graph in a flatbuffer: operators in the order of computation, constants as arrays, dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...system.types import Floats
from .packing import _model, _operator, unpack_nibbles

RELU = 1  # of the schema's ActivationFunctionType
NONE = -1  # the tensor that is left out


@dataclass(frozen=True)
class Operator:
    """An operator of a graph. `approximate` is True if it is a GELU approximated by a hyperbolic tangent."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    relu: bool = False
    approximate: bool = False


@dataclass(frozen=True)
class Product:
    """A dense layer of a graph: y = act(x V^T step + b) s, where act is a ReLU or the identity.

    V is `stored`, int8 or float32 `(out, in)`; b is `added` and s `scales`, float32 `(out,)`, or None.
    """

    stored: np.ndarray
    step: float
    added: Floats | None
    scales: Floats | None
    relu: bool
    start: int
    end: int

    @property
    def inputs(self) -> int:
        return self.stored.shape[1]

    @property
    def outputs(self) -> int:
        return self.stored.shape[0]

    @cached_property
    def kernel(self) -> Floats:
        """The kernel W of y = act(x W + bias), float32 `(in, out)`."""
        kernel = self.stored.T.astype(np.float32) * np.float32(self.step)
        return kernel if self.scales is None else kernel * self.scales

    @property
    def bias(self) -> Floats:
        """The bias of the same, float32 `(out,)`; zeros if there is none."""
        bias = np.zeros(self.outputs, np.float32) if self.added is None else self.added
        return bias if self.scales is None else bias * self.scales


class Graph:
    """The first subgraph of a flatbuffer."""

    def __init__(self, content: bytes) -> None:
        self._model = _model(content)
        self._graph = self._model.Subgraphs(0)
        self.operators = list(self._operators())
        self._producers = {tensor: operator for operator in self.operators for tensor in operator.outputs}

    def _operators(self) -> Iterator[Operator]:
        from ai_edge_litert import schema_py_generated as schema

        for number in range(self._graph.OperatorsLength()):
            operator = self._graph.Operators(number)
            name = _operator(self._model.OperatorCodes(operator.OpcodeIndex()))[0]
            relu = approximate = False
            if name in ("FULLY_CONNECTED", "MUL"):
                kind = schema.MulOptions if name == "MUL" else schema.FullyConnectedOptions
                relu = _options(kind, operator).FusedActivationFunction() == RELU
            elif name == "GELU":
                approximate = bool(_options(schema.GeluOptions, operator).Approximate())
            inputs, outputs = operator.InputsAsNumpy().tolist(), operator.OutputsAsNumpy().tolist()
            yield Operator(name, tuple(inputs), tuple(outputs), relu, approximate)

    def has(self, name: str) -> bool:
        """Return True if an operator has this name."""
        return any(operator.name == name for operator in self.operators)

    def constant(self, tensor: int) -> np.ndarray | None:
        """Return the array of a tensor as it is stored, or None if it is computed or left out (-1)."""
        if tensor < 0 or tensor in self._producers:
            return None
        about = self._graph.Tensors(tensor)
        buffer = self._model.Buffers(about.Buffer())
        if not buffer.DataLength():
            return None
        shape = about.ShapeAsNumpy() if about.ShapeLength() else ()
        if about.Type() == _four_bits():
            return unpack_nibbles(buffer.DataAsNumpy(), int(np.prod(shape))).reshape(shape)
        return buffer.DataAsNumpy().view(_dtypes()[about.Type()]).reshape(shape)

    def real(self, tensor: int) -> Floats | None:
        """Return the array of a tensor as float32, with whole numbers multiplied by their scale."""
        array = self.constant(tensor)
        return None if array is None else array.astype(np.float32) * np.float32(self._step_of(tensor, array))

    def _step_of(self, tensor: int, array: np.ndarray) -> float:
        """Return the scale of a tensor's whole numbers, or 1."""
        quantised = self._graph.Tensors(tensor).Quantization()
        known = array.dtype == np.int8 and quantised is not None and quantised.ScaleLength()
        return float(quantised.Scale(0)) if known else 1.0

    def producer(self, tensor: int) -> Operator | None:
        """Return the operator that computes a tensor, or None for a constant or an input."""
        return self._producers.get(tensor)

    @cached_property
    def products(self) -> list[Product]:
        """The dense layers, in the order of computation."""
        return [self._product(operator) for operator in self.operators if operator.name == "FULLY_CONNECTED"]

    def _product(self, operator: Operator) -> Product:
        kernel, bias = (*operator.inputs[1:], NONE)[:2]
        stored, end, relu, start = self.constant(kernel), operator.outputs[0], operator.relu, operator.inputs[0]
        if stored is None:
            raise ValueError("a product of two values")
        step, added, scales = self._step_of(kernel, stored), self.real(bias), None
        while scales is None and (following := self._only_reader(end)):
            other = next((vector for tensor in following.inputs if (vector := self.real(tensor)) is not None), None)
            if following.name == "RELU":
                relu = True
            elif following.name == "MUL" and other is not None and other.size == len(stored):
                scales, relu = other, relu or following.relu
            # A MAXIMUM with a number below all others keeps the converter from merging the layers on either side.
            elif following.name != "MAXIMUM" or other is None:
                break
            end = following.outputs[0]
        return Product(stored, step, added, scales, relu, start, end)

    def _only_reader(self, tensor: int) -> Operator | None:
        """Return the only operator that reads a tensor, or None if there are several."""
        readers = self.readers(tensor)
        return readers[0] if len(readers) == 1 else None

    def readers(self, tensor: int) -> list[Operator]:
        """Return the operators that read a tensor, in the order of computation."""
        return self._readers.get(tensor, [])

    @cached_property
    def _readers(self) -> dict[int, list[Operator]]:
        readers: dict[int, list[Operator]] = {}
        for operator in self.operators:
            for tensor in set(operator.inputs):
                readers.setdefault(tensor, []).append(operator)
        return readers

    @cached_property
    def behind(self) -> Callable[[int], frozenset[int]]:
        """A function from a tensor to the places in `products` of the layers that it is computed from."""
        places = {product.end: place for place, product in enumerate(self.products)}
        known: dict[int, frozenset[int]] = {}
        for operator in self.operators:
            before = frozenset().union(*(known.get(tensor, frozenset()) for tensor in operator.inputs))
            for tensor in operator.outputs:
                known[tensor] = before | {places[tensor]} if tensor in places else before
        return lambda tensor: known.get(tensor, frozenset())

    def lookups(self, rows: int) -> tuple[list[int], list[int]]:
        """Find the tensors that ids select rows of, and those of codebooks, in the order of the codecs.

        The order is: the widest first, scales last. A table of two parts shares the rows between them and is returned
        as codebooks: the arrays of the first part, the codes of the second, its codewords, their step and `count`.
        """
        gathers = [operator for operator in self._gathers if operator not in self._position_gathers]
        after = {operator.inputs[0]: self.after(operator) for operator in gathers}
        picked = frozenset().union(*after.values())
        tables = [operator.inputs[0] for operator in gathers if operator.inputs[1] not in picked]
        books = [operator for operator in gathers if operator.inputs[1] in picked]
        words = self._sort_by_width(operator.inputs[0] for operator in books)
        if self.count is None:
            return self._sort_by_width(tensor for tensor in tables if len(self.read_constant(tensor)) == rows), words
        codes = [tensor for tensor in tables if any(operator.inputs[1] in after[tensor] for operator in books)]
        steps = [self._step(operator) for operator in books]
        return [], [*self._sort_by_width(set(tables) - set(codes)), *codes, *words, *steps, self.count]

    @property
    def _gathers(self) -> list[Operator]:
        return [operator for operator in self.operators if operator.name == "GATHER"]

    @cached_property
    def _position_gathers(self) -> list[Operator]:
        """The operators that look up positions in a text, which are counted, and not its ids."""
        counted = frozenset().union(*(self.after(one) for one in self.operators if one.name == "CUMSUM"))
        return [operator for operator in self._gathers if operator.inputs[1] in counted]

    def positions(self) -> list[np.ndarray]:
        """Return the arrays that positions in a text select rows of, in the order of the codecs."""
        return [
            self.read_constant(tensor)
            for tensor in self._sort_by_width(operator.inputs[0] for operator in self._position_gathers)
        ]

    def _step(self, gather: Operator) -> int:
        """Return the tensor of the first vector that gathered rows are multiplied by."""
        after = self.after(gather)
        products = (one for one in self.operators if one.name == "MUL" and after & set(one.inputs))
        return next(tensor for one in products for tensor in one.inputs if self.read_constant(tensor).ndim == 1)

    @cached_property
    def count(self) -> int | None:
        """The tensor with the number of rows in a table's first part, to which ids are compared; None for one part."""
        return next((operator.inputs[1] for operator in self.operators if operator.name == "LESS"), None)

    def after(self, operator: Operator) -> set[int]:
        """Return the tensors that an operator writes, and all that are computed from them."""
        reached = set(operator.outputs)
        for other in self.operators:
            if reached & set(other.inputs):
                reached |= set(other.outputs)
        return reached

    def _sort_by_width(self, tensors):
        return sorted(
            tensors, key=lambda tensor: (self.read_constant(tensor).dtype == np.int32, -self.read_constant(tensor).size)
        )

    def read_constant(self, tensor: int) -> np.ndarray:
        """Return `constant`, or an array without rows if the tensor has none."""
        array = self.constant(tensor)
        return np.zeros((0, 0)) if array is None else array

    def buffer(self, tensor: int) -> int:
        """Return the number of the buffer that holds a tensor's content."""
        return int(self._graph.Tensors(tensor).Buffer())


def _options(kind, operator):
    """Return the options of an operator, as a class of the schema."""
    options = kind()
    options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    return options


def _four_bits():
    from ai_edge_litert import schema_py_generated as schema

    return schema.TensorType.INT4


def _dtypes():
    from ai_edge_litert import schema_py_generated as schema

    types = schema.TensorType
    return {
        types.FLOAT32: np.float32,
        types.FLOAT16: np.float16,
        types.INT32: np.int32,
        types.UINT8: np.uint8,
        types.INT64: np.int64,
        types.INT8: np.int8,
        types.BOOL: np.bool_,
    }
