"""Write an encoder as an ONNX file for servers: batches of padded texts, int8 products, a quantised table.

The graph is written operator by operator: `export/families/` has the nodes of each family.

Activations are quantised token by token, because one range for a whole batch would make a text's vector depend on the
other texts. Rows of the table are gathered before they are decoded, so that a runtime that folds constants never makes
a float table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ..families.preparation import prepare_table
from ..families.registry import family_part
from ..weights.precision import Precision
from .layers import LOOKUPS, PRODUCTS, make_lookup
from .nodes import Graph, Value, serialize_checked

if TYPE_CHECKING:
    from ...students.student import Student


def add_plain_inputs(graph: Graph) -> list[Value]:
    """Return the input `ids`, int32 `(b, t)`, which needs no nodes."""
    return [("ids", "int32", ("b", "t"))]


def convert_to_onnx(
    model: Student, dense: str = "int8", table: str = "uint8", inputs: Callable[[Graph], list[Value]] = add_plain_inputs
) -> bytes:
    """Convert a student to ONNX; the same model gives the same bytes.

    The file maps `ids` int32 `(b, t)` to `vectors` float32 `(b, d)` of unit length. Negative ids are padding; a text
    has at least one id.

    Args:
        dense: The format of dense kernels, "int8" or "float32".
        table: The format of the embedding table, a key of `CODECS`.
        inputs: A function that adds the nodes which compute `ids` from other inputs, and returns these.

    Raises:
        ConfigError: If there is no such `dense` or `table`.
        ExportError: If the package onnx is missing, the student's family cannot be written, or the graph is not valid.
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
