import numpy as np
import pytest

from distill.encoders.spellings import Expansions
from distill.export.onnx.model import add_masked_inputs
from distill.export.onnx.nodes import Graph, serialize_checked

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
IDS = [[0, 10, 9, 12, 11], [7, 0, 0, 0, 0], [10, 10, 1, 0, 0]]
MASK = [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]]


def ids_of(spellings, ids, mask):
    graph = Graph()
    inputs = add_masked_inputs(graph, spellings)
    content = serialize_checked(graph.model("ids", inputs, [("ids", "int32", ("b", "n"))], "a test"))
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (rows,) = session.run(None, {"input_ids": np.array(ids), "attention_mask": np.array(mask)})
    return rows.tolist()


def test_what_is_masked_is_padding():
    assert ids_of(None, IDS, MASK) == [[0, 10, 9, 12, 11], [7, -1, -1, -1, -1], [10, 10, 1, -1, -1]]


def test_spellings_are_the_ids_that_they_stand_for_side_by_side():
    spellings = Expansions.in_array(10, np.array([1, 2, 3, -1, 4, -1, 5, 6, -1], dtype=np.int32))
    expected = [[0, 1, 2, 3, 9, 5, 6, 4], [7, -1, -1, -1, -1, -1, -1, -1], [1, 2, 3, 1, 2, 3, 1, -1]]
    assert ids_of(spellings, IDS, MASK) == expected
    # A row is as long as the longest, and padding may stand first.
    assert ids_of(spellings, [[0, 0, 11]], [[0, 0, 1]]) == [[4]]
