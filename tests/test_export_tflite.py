import numpy as np
import pytest

from distill.errors import ExportError
from distill.export import tflite
from distill.export.tflite import checked, convert, custom_operators

# A single id, the shortest real text (bos, a piece, eos), both sides of every n-gram order, and several hundred.
LENGTHS = (1, 3, 2, 300, 5, 17, 4, 700, 64, 3)


@pytest.fixture(scope="module")
def wide():
    """A model whose every kernel has the 1,024 elements from which on the converter quantises.

    Biases and norms start at zero and one, where leaving one out would not be seen; so all weights are random.
    """
    import keras

    from distill.students.ngram import NGramEncoder

    keras.utils.set_random_seed(3)
    model = NGramEncoder(vocabulary=2000, width=40, channels=32, orders=(2, 3), hidden=36, dimension=40)
    random = np.random.default_rng(3)
    model.set_weights([weight + random.normal(size=weight.shape) * 0.1 for weight in model.get_weights()])
    return model


@pytest.fixture(scope="module")
def content(wide):
    return convert(wide)


@pytest.fixture(scope="module")
def graph(content):
    """The flatbuffer, read with the schema and not with an interpreter."""
    return Graph(content)


class Graph:
    def __init__(self, content):
        from ai_edge_litert import schema_py_generated as schema

        self.schema, self.model = schema, schema.Model.GetRootAsModel(content, 0)
        self.main = self.model.Subgraphs(0)
        self.codes = [self.model.OperatorCodes(i) for i in range(self.model.OperatorCodesLength())]
        self.tensors = [self.main.Tensors(i) for i in range(self.main.TensorsLength())]

    def constants(self, kind):
        """Stored tensors of one type."""
        wanted = getattr(self.schema.TensorType, kind)
        return [t for t in self.tensors if t.Type() == wanted and self.model.Buffers(t.Buffer()).DataLength()]

    def values(self, tensor, dtype):
        return self.model.Buffers(tensor.Buffer()).DataAsNumpy().view(dtype).reshape(tensor.ShapeAsNumpy())

    def dense_kernels(self):
        """The weights of every FULLY_CONNECTED operator."""
        wanted = self.schema.BuiltinOperator.FULLY_CONNECTED
        operators = [self.main.Operators(i) for i in range(self.main.OperatorsLength())]
        return [
            self.tensors[operator.Inputs(1)]
            for operator in operators
            if self.codes[operator.OpcodeIndex()].BuiltinCode() == wanted
        ]


def scales(tensor):
    return tensor.Quantization().ScaleAsNumpy().tolist()


def channel_layers(model):
    layers = [model.get_layer("pooling").dense]
    for branch in model.branches:
        layers += [branch.projection, branch.first.dense, branch.second.dense]
    return layers


def whole_numbers(dense):
    """The kernel in steps of each channel's 1/127, transposed as a flatbuffer holds it."""
    kernel = np.asarray(dense.kernel)
    return np.round(kernel / (np.abs(kernel).max(axis=0) / 127)).T.astype(np.int8)


def run(interpreter, ids):
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (1, len(ids)))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array([ids], dtype=np.int32))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]


def interpreter_of(content):
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_content=content)


def token_ids(length, seed=0):
    return np.random.default_rng(seed + length).integers(0, 2000, size=length)


def test_all_operators_are_builtin(graph):
    assert [code.CustomCode() for code in graph.codes] == [None] * len(graph.codes)
    assert graph.schema.BuiltinOperator.CUSTOM not in [code.BuiltinCode() for code in graph.codes]


def test_the_table_is_uint8_vocabulary_by_width(graph):
    tables = graph.constants("UINT8")
    assert [table.ShapeAsNumpy().tolist() for table in tables] == [[2000, 40]]


def test_the_table_and_its_scales_are_the_quantised_rows(graph, wide):
    table = wide.get_layer("embedding").get_weights()[0].astype(np.float64)
    stored = graph.values(graph.constants("UINT8")[0], np.uint8)
    fixed = next(t for t in graph.constants("INT32") if t.ShapeAsNumpy().tolist() == [2000, 1])
    step = graph.values(fixed, np.int32) / 2**24
    assert step == pytest.approx(np.abs(table).max(axis=1, keepdims=True) / 127, rel=1e-4)
    assert np.all(np.abs((stored.astype(np.float64) - 128) * step - table) <= 0.501 * step)


def test_no_second_table_is_stored(content):
    # In float32 it alone would have four times the bytes.
    assert 2000 * 40 < len(content) < 4 * 2000 * 40


def test_every_dense_kernel_is_int8_with_one_scale(graph):
    kernels = graph.dense_kernels()
    assert len(kernels) == 7 + 2 * 6
    assert {kernel.Type() for kernel in kernels} == {graph.schema.TensorType.INT8}
    assert {len(scales(kernel)) for kernel in kernels} == {1}


def test_kernels_on_the_grid_stay_exact(graph, wide):
    exact = [graph.values(kernel, np.int8) for kernel in graph.dense_kernels() if scales(kernel) == [1.0]]
    expected = [whole_numbers(dense) for dense in channel_layers(wide)]
    assert sorted(kernel.tobytes() for kernel in exact) == sorted(kernel.tobytes() for kernel in expected)


def test_the_heads_kernels_are_sums_of_two(graph, wide):
    head = wide.get_layer("head")
    parts = [scales(k)[0] * graph.values(k, np.int8).astype(np.float64) for k in graph.dense_kernels()]
    for name in head.sizes:
        kernel = np.asarray(getattr(head, name).kernel, dtype=np.float64).T
        step = np.abs(kernel).max() / 127
        sums = [a + b for a in parts for b in parts if a.shape == b.shape == kernel.shape]
        # The second kernel's grid is 254 times finer, so the sum is off by at most half of step / 254.
        assert min(np.abs(total - kernel).max() for total in sums) <= 0.51 * step / 254


def test_dense_operators_load_in_older_runtimes(graph):
    wanted = graph.schema.BuiltinOperator.FULLY_CONNECTED
    assert max(code.Version() for code in graph.codes if code.BuiltinCode() == wanted) <= 9


def test_one_int32_input_of_any_length_and_one_float32_output(content):
    interpreter = interpreter_of(content)
    (ids,), (vector,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert (ids["dtype"], ids["shape_signature"].tolist()) == (np.int32, [1, -1])
    assert (vector["dtype"], vector["shape_signature"].tolist()) == (np.float32, [1, 40])


def test_one_interpreter_serves_texts_of_many_lengths(content, wide):
    interpreter = interpreter_of(content)
    for length in LENGTHS:
        ids = token_ids(length)
        got, expected = run(interpreter, ids), np.asarray(wide(ids[None]))[0]
        assert (length, np.linalg.norm(got)) == (length, pytest.approx(1, abs=1e-5))
        # A text of random pieces is harder than a real one: its int8 products cancel.
        assert (length, float(got @ expected)) == (length, pytest.approx(1, abs=1e-3))


def test_a_text_does_not_feel_the_text_before(content):
    interpreter, ids = interpreter_of(content), token_ids(9)
    first = run(interpreter, ids)
    run(interpreter, token_ids(200))
    assert np.array_equal(run(interpreter, ids), first)


def test_the_first_and_the_last_piece_are_in_the_table(content, wide):
    ids = np.array([0, 1999, 1999, 0])
    assert run(interpreter_of(content), ids) @ np.asarray(wide(ids[None]))[0] == pytest.approx(1, abs=5e-4)


def test_a_model_too_small_to_quantise_is_converted_too(tiny, capfd):
    content = convert(tiny.model)
    assert capfd.readouterr() == ("", "")
    ids = token_ids(12)
    assert run(interpreter_of(content), ids) @ np.asarray(tiny.model(ids[None]))[0] == pytest.approx(1, abs=2e-4)


def test_the_same_model_gives_the_same_bytes(wide, content):
    # Whatever the process made before: a run that is repeated from its config has the same bundle.
    assert convert(wide) == content


def test_whole_content_passes(content):
    assert checked(content, 2000 * 40) is content


@pytest.mark.parametrize("kept", [0, 100, 2000 * 40 - 1])
def test_truncated_content_is_refused(content, kept):
    with pytest.raises(ExportError, match=f"has {kept} bytes, its table alone needs 80000: the weights are missing"):
        checked(content[:kept], 2000 * 40)


def converted(function, *operator_sets):
    import tensorflow as tf

    concrete = tf.function(function).get_concrete_function(tf.TensorSpec((3,), tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, name) for name in operator_sets]
    return converter.convert()


def test_a_file_without_weights_is_refused(tiny, monkeypatch):
    weightless = converted(lambda x: x * 2, "TFLITE_BUILTINS")
    monkeypatch.setattr(tflite, "_converted", lambda tf, model: weightless)
    with pytest.raises(ExportError, match="weights are missing"):
        convert(tiny.model)


def test_operators_that_need_tensorflow_are_named():
    import tensorflow as tf

    flex = converted(lambda x: tf.strings.length(tf.strings.as_string(x)), "TFLITE_BUILTINS", "SELECT_TF_OPS")
    assert custom_operators(flex) == ["FlexAsString", "FlexStringLength"]
    with pytest.raises(ExportError, match="not builtin: FlexAsString, FlexStringLength"):
        checked(flex, 0)


@pytest.mark.parametrize(("message", "shown"), [("no such op\nat line 7", "failed: no such op$"), ("", "failed")])
def test_a_failed_conversion_is_one_line(tiny, monkeypatch, message, shown):
    def fail(tf, model):
        raise RuntimeError(message)

    monkeypatch.setattr(tflite, "_converted", fail)
    with pytest.raises(ExportError, match=shown):
        convert(tiny.model)


def test_another_keras_backend_is_refused(tiny, monkeypatch):
    import keras

    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ExportError, match="KERAS_BACKEND=tensorflow, not jax"):
        convert(tiny.model)
