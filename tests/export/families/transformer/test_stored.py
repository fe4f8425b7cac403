"""A transformer out of its bundle and its ONNX file: the same sizes, and weights that give the file's vectors."""

import numpy as np
import pytest

from distill.export.onnx import model as onnx_weights
from distill.export.onnx.model import convert_to_onnx
from distill.export.tflite import weights as tflite_weights
from distill.export.tflite.convert import convert
from distill.export.tflite.graph import Graph
from distill.export.tflite.weights import parts_of
from distill.export.weights.codecs import MIXED_CODECS
from distill.export.weights.precision import Precision
from distill.students.families import SETTINGS, settings_as_array
from distill.students.project import build_student
from distill.students.transformer import TransformerEncoder

# From 1,024 elements on the TFLite converter quantises a kernel. As many positions as pieces.
SIZES = {"vocabulary": 300, "width": 40, "heads": 4, "head_size": 8, "inner": 48, "positions": 300, "dimension": 40}
# As many positions as a graph that does not say them may have.
MODERN = {"block": "modern", "window": 2, "global_theta": 160_000.0, "local_theta": 9.0, "positions": 8192}
# Each kind of pooling, of activation inside, and of what stands behind, is in one.
CASES = {
    "float32": (
        {"depth": 1, "rank": 20, "pooling": "first", "activation": "gelu_tanh", "dense": "gelu", "epsilon": 1e-5},
        Precision("float32", "float32"),
    ),
    "int8": (
        {"depth": 2, "activation": "relu", "dense": "tanh", "space": 36, "foreign": True, "epsilon": 1e-6},
        Precision("int8", "int4"),
    ),
    "turned": (
        {"depth": 1, "pooling": "max", "space": 40, "dimension": 30, "foreign": True},
        Precision("int8", "int4-pq5"),
    ),
    "int4": ({"depth": 1, "rank": 30}, Precision("int4", "int4")),
    "modern": (
        {**MODERN, "depth": 3, "local": (1,), "activation": "gelu_tanh", "dense": "tanh", "space": 36, "foreign": True},
        Precision("float32", "float32"),
    ),
    "modern, turned": ({**MODERN, "depth": 2, "local": (1,), "pooling": "max"}, Precision("int8", "int4-pq3")),
}
# The whole number that a channel's largest is in 4 bits.
LARGEST = 7


@pytest.fixture(scope="module", params=CASES)
def case(request, randomised):
    sizes, precision = CASES[request.param]
    return randomised(TransformerEncoder(**SIZES | sizes), 0.15), precision


def vectors_of(content, rows):
    from ai_edge_litert.interpreter import Interpreter

    interpreter, vectors = Interpreter(model_content=content), []
    place, end = (side[0]["index"] for side in (interpreter.get_input_details(), interpreter.get_output_details()))
    for ids in rows:
        interpreter.resize_tensor_input(place, ids[None].shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(place, ids[None])
        interpreter.invoke()
        vectors.append(interpreter.get_tensor(end)[0])
    return np.stack(vectors)


def require_same(model, precision, weights, vectors, rows):
    student = build_student(weights, "student")
    turned = {"rank": SIZES["width"]} if precision.table in MIXED_CODECS else {}
    assert student.get_config() == {**model.get_config(), "name": "student", **turned}
    cosines = np.sum(np.asarray(student(rows)) * vectors, axis=1)
    # The file's activations are rounded, the student's are not.
    assert cosines.min() > (1 - 1e-6 if precision.dense == "float32" else 0.999)
    if precision.dense == "float32":
        for weight in model.weights:
            np.testing.assert_allclose(weights[weight.path], np.asarray(weight), atol=1e-6, err_msg=weight.path)


def test_the_student_of_a_bundle_gives_its_vectors(case):
    model, precision = case
    content = convert(model, precision)
    rows = np.random.default_rng(0).integers(0, 300, size=(6, 9), dtype=np.int32)
    weights = tflite_weights.weights_in(content, 300, precision.table)
    require_same(model, precision, weights, vectors_of(content, rows), rows)
    parts = parts_of(Graph(content))
    # A kernel on its channels' grid was not multiplied by the gains in front of it.
    for name in ("looked", "second") if precision.dense != "float32" else ():
        stored = parts.products[f"block_0.{name}"].stored
        assert stored.dtype == np.int8
        assert (np.abs(stored).max(axis=1) == (LARGEST if precision.dense == "int4" else 127)).all()
    counted = sum(weight.size for path, weight in weights.items() if path not in (SETTINGS, "embedding/embeddings"))
    assert (parts.family, parts.size) == ("transformer", pytest.approx(counted, rel=0.01))


@pytest.mark.parametrize("case", [name for name in CASES if name != "int4"], indirect=True)
def test_the_student_of_an_onnx_file_gives_its_vectors(case):
    runtime = pytest.importorskip("onnxruntime")
    model, precision = case
    content = convert_to_onnx(model, precision.dense, precision.table)
    rows = np.random.default_rng(0).integers(0, 300, size=(6, 9), dtype=np.int32)
    (vectors,) = runtime.InferenceSession(content).run(None, {"ids": rows})
    require_same(model, precision, onnx_weights.weights_in(content, 300, precision.table), vectors, rows)


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"heads": 3, "pooling": "mean", "dense": None}, "3 heads"), ({}, "heads")],
)
def test_settings_that_do_not_fit_the_weights_are_refused(case, settings, error):
    weights = {weight.path: np.asarray(weight) for weight in case[0].weights}
    with pytest.raises((ValueError, KeyError), match=error):
        build_student({**weights, SETTINGS: settings_as_array(settings)}, "student")
