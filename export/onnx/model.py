"""The encoder as an ONNX file, for servers: batches of padded texts, int8 products, the table in few bits.

Written operator by operator: `export/families/` has the nodes of each family.

Activations are quantised token by token, because one range for a whole batch would let a text's vector depend on
its neighbours. Rows of the table are gathered first and decoded then: a runtime that folds constants never makes
a float table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ..families.prepared import prepared
from ..families.registry import family_part
from ..weights.precision import Precision
from .layers import LOOKUPS, PRODUCTS, lookup_of
from .nodes import Graph, Value, checked

if TYPE_CHECKING:
    from ...students.student import Student


def plain_ids(graph: Graph) -> list[Value]:
    """Return the input `ids`, int32 `(b, t)`, which needs no nodes."""
    return [("ids", "int32", ("b", "t"))]


def onnx_model(
    model: Student, dense: str = "int8", table: str = "uint8", inputs: Callable[[Graph], list[Value]] = plain_ids
) -> bytes:
    """An ONNX file, bytes, of a student: `ids` int32 `(b, t)` -> `vectors` float32 `(b, d)` of unit length.

    Any negative id is padding; a text is one id at least. `dense` is "int8" or "float32", `table` a key of
    `codecs.CODECS`; other `inputs` add the nodes that make `ids` of them. The same model gives the same bytes. Raises
    `ConfigError` for another `dense` or `table`, and `ExportError` when the package onnx is missing, the student's
    family has no nodes or the graph is not valid.
    """
    if dense not in PRODUCTS or table not in LOOKUPS:
        raise ConfigError(
            f"no ONNX export with dense={dense!r}, table={table!r}; "
            f"dense is one of {', '.join(PRODUCTS)}, table one of {', '.join(LOOKUPS)}"
        )
    nodes = family_part(model.family, "onnx", "ONNX").OnnxEncoder
    graph, model = Graph(), prepared(model, Precision(dense, table))
    values = inputs(graph)
    (rows,) = model.get_layer("embedding").get_weights()
    nodes(graph, model, PRODUCTS[dense]).vectors(lookup_of(graph, rows, table, "table"))
    # Without the model's name: an automatic one counts up in a process.
    text = f"Token ids, negative where padded, to vectors of unit length; dense {dense}, table {table}"
    return checked(graph.model("encoder", values, [("vectors", "float32", ("b", model.dimension))], text))
