"""Write an encoder as an ONNX file for servers: batches of padded texts, int8 products, a quantised table.

The weights of a student are read back from its file by the names that `students.project` takes.

The graph is written operator by operator: `export/families/` has the nodes of each family.

Activations are quantised token by token, because one range for a whole batch would make a text's vector depend on the
other texts. Rows of the table are gathered before they are decoded, so that a runtime that folds constants never makes
a float table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.spellings import Expansions
from ...errors import ConfigError, ExportError
from ...students.families import SETTINGS, settings_as_array
from ...system.types import Floats, Integers
from ..families.registry import family_part, find_owner, prepare_table
from ..weights.codecs import CODECS, TableEdit, decode_rows
from ..weights.precision import Precision
from .layers import LOOKUPS, PRODUCTS, make_lookup
from .nodes import Graph, Value, import_onnx, serialize_checked

if TYPE_CHECKING:
    from onnx import ModelProto

    from ...students.student import Student


def add_plain_inputs(graph: Graph) -> list[Value]:
    """Return the input `ids`, int32 `(b, t)`, which needs no nodes."""
    return [("ids", "int32", ("b", "t"))]


def convert_to_onnx(
    model: Student, dense: str = "int8", table: str = "uint8", inputs: Callable[[Graph], list[Value]] = add_plain_inputs
) -> bytes:
    """Convert a student to ONNX; the same model gives the same bytes.

    The file maps `ids` int32 `(b, t)` to `vectors` float32 `(b, d)` of unit length. Negative ids are padding; a text
    has at least one id. Raises `ConfigError` if there is no such `dense` or `table`; and `ExportError` if the package
    onnx is missing, the student's family cannot be written, or the graph is not valid.

    Args:
        dense: The format of dense kernels, "int8" or "float32".
        table: The format of the embedding table, a key of `CODECS`.
        inputs: A function that adds the nodes which compute `ids` from other inputs, and returns these.
    """
    if dense not in PRODUCTS or table not in LOOKUPS:
        raise ConfigError(
            f"no ONNX export with dense={dense!r}, table={table!r}; "
            f"dense is one of {', '.join(PRODUCTS)}, table one of {', '.join(LOOKUPS)}"
        )
    nodes = family_part(model.family, "onnx", "ONNX").OnnxEncoder
    graph, model = Graph(), prepare_table(model, Precision(dense, table))
    values = inputs(graph)
    (rows,) = model.get_layer("embedding").get_weights()
    nodes(graph, model, PRODUCTS[dense]).vectors(make_lookup(graph, rows, table, "table"))
    # The model's name is left out, because Keras's automatic names depend on the models made before.
    text = f"Token ids, negative where padded, to vectors of unit length; dense {dense}, table {table}"
    return serialize_checked(graph.model("encoder", values, [("vectors", "float32", ("b", model.dimension))], text))


PADDING = -1


def add_masked_inputs(graph: Graph, spellings: Expansions | None = None) -> list[Value]:
    """Add the inputs `input_ids` and `attention_mask`, int64 `(b, t)`, and the nodes that make `ids` of them.

    Spellings are replaced by the ids that they stand for.
    """
    g = graph
    there = g.add("Greater", "attention_mask", g.number(0, "int64"))
    ids = g.add("Where", there, "input_ids", g.number(PADDING, "int64"))
    if spellings is not None:
        ids = _close_gaps(g, _expand(g, ids, spellings))
    g.add("Cast", ids, name="ids", to=g.kind("int32"))
    return [("input_ids", "int64", ("b", "t")), ("attention_mask", "int64", ("b", "t"))]


def _expand(g: Graph, ids: str, spellings: Expansions) -> str:
    """Replace each id by those that it stands for and padding: `(b, t)` -> `(b, t * most)`."""
    lengths = np.diff(spellings.starts)
    place = g.add("Sub", ids, g.number(spellings.first, "int64"))
    spelled = g.add("GreaterOrEqual", place, g.number(0, "int64"))
    # An id that is not a spelling is looked up at a place behind all spellings, with a length of one.
    place = g.add("Where", spelled, place, g.number(len(lengths), "int64"))
    start = _look_up_numbers(g, place, "starts", np.append(spellings.starts[:-1], 0).astype(np.int32))
    length = _look_up_numbers(g, place, "lengths", np.append(lengths, 1).astype(np.uint8))
    reach = g.constant("spellings/reach", np.arange(lengths.max(), dtype=np.int64))
    last = g.number(len(spellings.ids) - 1, "int64")
    meant = g.add("Gather", g.constant("spellings/ids", spellings.ids), g.add("Min", g.add("Add", start, reach), last))
    spelled, ids = (g.add("Unsqueeze", value, g.numbers(-1)) for value in (spelled, ids))
    each = g.add("Where", spelled, g.cast(meant, "int64"), ids)  # (b, t, most)
    each = g.add("Where", g.add("Less", reach, length), each, g.number(PADDING, "int64"))
    return g.add("Reshape", each, g.numbers(0, -1))


def _look_up_numbers(g: Graph, place: str, name: str, array: Integers) -> str:
    """Look up numbers `(b, t, 1)` of the spellings at the places `(b, t)`."""
    numbers = g.add("Gather", g.constant(f"spellings/{name}", array), place)
    return g.add("Unsqueeze", g.cast(numbers, "int64"), g.numbers(-1))


def _close_gaps(g: Graph, ids: str) -> str:
    """Move padding behind all ids, as neighbours are read together: `(b, n)` -> `(b, m)`, m ids of the longest row."""
    there = g.add("GreaterOrEqual", ids, g.number(0, "int64"))
    place = g.add("Sub", g.add("CumSum", g.cast(there, "int64"), g.number(1, "int64")), g.number(1, "int64"))
    rows, width = (g.add("Slice", g.add("Shape", ids), g.numbers(side), g.numbers(side + 1)) for side in (0, 1))
    # All padding is scattered to one place behind the others.
    place = g.add("Where", there, place, width)
    blank = g.add("Expand", g.numbers(PADDING), g.add("Concat", rows, g.add("Add", width, g.numbers(1)), axis=0))
    closed = g.add("ScatterElements", blank, place, ids, axis=1)
    longest = g.add("ReduceMax", g.add("ReduceSum", g.cast(there, "int64"), g.numbers(1), keepdims=1), keepdims=1)
    return g.add("Slice", closed, g.numbers(0), g.add("Reshape", longest, g.numbers(-1)), g.numbers(1))


def weights_in(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    """Read the weights of the student in an ONNX file; raise `ExportError` if it is not a student's."""
    model = read_model(content)
    arrays = arrays_of(model)
    try:
        if model.metadata_props:
            arrays[SETTINGS] = settings_as_array({entry.key: json.loads(entry.value) for entry in model.metadata_props})
        weights = find_owner("stored", lambda family: _owns(family, arrays)).weights_of_arrays(arrays)
        return {"embedding/embeddings": table_of(arrays, codec, weights.pop("width").size)[:rows], **weights}
    except (IndexError, StopIteration, ValueError, TypeError, KeyError) as error:
        raise ExportError("its graph is not that of a student") from error


def _owns(family, arrays):
    return hasattr(family, "owns_arrays") and family.owns_arrays(arrays)


def with_table(content: bytes, codec: str, remade: TableEdit) -> bytes:
    """Replace the arrays of the embedding table. Returns the content of the new file."""
    model, helper = read_model(content), import_onnx().numpy_helper
    stored = {array.name: array for array in model.graph.initializer}
    tables = [stored[name] for name in _names(codec)]
    arrays = remade([helper.to_array(table) for table in tables])
    for table, array in zip(tables, arrays, strict=True):
        table.CopyFrom(helper.from_array(array, table.name))
    return serialize_checked(model)


def _names(codec: str, name: str = "table") -> list[str]:
    """Return the names of the arrays that store a table."""
    return [f"{name}/{number}" for number in range(CODECS[codec].arrays)]


def read_model(content: bytes) -> ModelProto:
    from google.protobuf.message import DecodeError

    try:
        return import_onnx().load_model_from_string(content)
    except DecodeError as error:
        raise ExportError("not an ONNX file") from error


def arrays_of(model: ModelProto) -> dict[str, np.ndarray]:
    helper = import_onnx().numpy_helper
    return {stored.name: helper.to_array(stored) for stored in model.graph.initializer}


def table_of(arrays: Mapping[str, np.ndarray], codec: str, width: int, name: str = "table") -> Floats:
    """Decode a table. Returns a float32 array `(n, width)`."""
    return np.ascontiguousarray(decode_rows(codec, [arrays[part] for part in _names(codec, name)], width))


def kernel_of(arrays: Mapping[str, np.ndarray], name: str) -> Floats:
    """Decode a kernel `(in, out)`: float32, float16, or whole numbers with a scale per output channel."""
    scales = arrays.get(f"{name}/scales", np.float32(1))
    return arrays[f"{name}/kernel"].astype(np.float32) * scales
